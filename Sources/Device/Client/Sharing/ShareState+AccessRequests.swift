import StratusWire

extension ShareState {
    /// Who asks for access to a share, and who may not, as it stands at one moment.
    struct AccessRequests: Hashable, Sendable {
        var areAllowed = false
        private(set) var requesters: [UserIdentityDictionary] = []
        private(set) var blocked: [UserIdentityDictionary] = []

        init() {}

        /// As an answer has it, which says nothing of shares that take no requests.
        init(_ dictionary: ShareDictionary) {
            areAllowed = dictionary.allowsAccessRequests ?? false
            requesters = dictionary.accessRequesters ?? []
            blocked = dictionary.blockedIdentities ?? []
        }

        mutating func deny(_ people: [UserIdentityDictionary]) {
            requesters.removeAll { $0.isOne(of: people) }
        }

        mutating func block(_ people: [UserIdentityDictionary]) {
            deny(people)
            for person in people where !person.isOne(of: blocked) { blocked.append(person) }
        }

        mutating func unblock(_ people: [UserIdentityDictionary]) {
            blocked.removeAll { $0.isOne(of: people) }
        }

        /// Writes what the service does not know.
        func write(to dictionary: inout ShareDictionary, known: AccessRequests = .init()) {
            if areAllowed != known.areAllowed { dictionary.allowsAccessRequests = areAllowed }
            if requesters != known.requesters { dictionary.accessRequesters = requesters }
            if blocked != known.blocked { dictionary.blockedIdentities = blocked }
        }

        /// Takes over what the service answered to a save, but keeps what was decided meanwhile.
        mutating func confirm(_ server: AccessRequests, sent: AccessRequests) {
            let own = self
            self = server
            if own.areAllowed != sent.areAllowed { areAllowed = own.areAllowed }
            deny(sent.requesters.filter { !$0.isOne(of: own.requesters) })
            unblock(sent.blocked.filter { !$0.isOne(of: own.blocked) })
            block(own.blocked.filter { !$0.isOne(of: sent.blocked) })
        }
    }
}

extension UserIdentityDictionary {
    /// Whether somebody of these people is meant: by user record name, which everybody has who asked.
    fileprivate func isOne(of people: [UserIdentityDictionary]) -> Bool {
        people.contains {
            $0 == self || userRecordName != nil && $0.userRecordName == userRecordName
        }
    }
}

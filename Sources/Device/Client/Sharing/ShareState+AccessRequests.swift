import StratusWire

extension ShareState {
    /// The pending requests for access to a share, and the blocked people.
    struct AccessRequests: Hashable, Sendable {
        var areAllowed = false
        private(set) var requesters: [UserIdentityDictionary] = []
        private(set) var blocked: [UserIdentityDictionary] = []

        init() {}

        /// Reads an answer, which has no such entries for shares that take no requests.
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

        /// Writes the decisions that the service does not have yet.
        func write(to dictionary: inout ShareDictionary, known: AccessRequests = .init()) {
            if areAllowed != known.areAllowed { dictionary.allowsAccessRequests = areAllowed }
            if requesters != known.requesters { dictionary.accessRequesters = requesters }
            if blocked != known.blocked { dictionary.blockedIdentities = blocked }
        }

        /// Adopts the service's answer to a save, but keeps decisions made since the request was
        /// built.
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
    /// Whether it is one of these people, compared by user record name: everyone who requested access has one.
    fileprivate func isOne(of people: [UserIdentityDictionary]) -> Bool {
        people.contains {
            $0 == self || userRecordName != nil && $0.userRecordName == userRecordName
        }
    }
}

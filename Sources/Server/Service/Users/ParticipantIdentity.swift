import StratusRecords
import StratusStorage
import StratusWire

/// A person as the invitations of shares identify people: the one place that decides which addresses belong to whom.
struct ParticipantIdentity: Sendable {
    var userRecordName: String
    /// The verified address of the account, in lowercase.
    var emailAddress: String?
    /// The one-time token of the person's link, which follows its short GUID.
    var oneTimeToken: String?
    /// The identity as the owner of a share sees it; other participants do not see the addresses.
    var dictionary: UserIdentityDictionary

    init(_ user: UserRow) {
        userRecordName = user.recordName
        emailAddress = user.isEmailVerified ? user.emailAddress.map(Self.normalized) : nil
        dictionary = UserIdentityDictionary(
            userRecordName: user.recordName, givenName: user.givenName,
            familyName: user.familyName, emailAddress: emailAddress,
            lookupUserRecordName: emailAddress == nil ? user.recordName : nil)
    }

    /// Addresses are compared without regard to case: no provider distinguishes them by it.
    static func normalized(_ emailAddress: String) -> String {
        emailAddress.lowercased()
    }

    /// Whether an invitation means this person.
    func matches(_ invited: UserIdentityDictionary) -> Bool {
        if invited.userRecordName == userRecordName { return true }
        if invited.lookupUserRecordName == userRecordName { return true }
        if let oneTimeToken, invited.lookupInfo?.oneTimeToken == oneTimeToken { return true }
        return emailAddress != nil && invited.emailAddress.map(Self.normalized) == emailAddress
    }
}

extension ParticipantIdentity {
    /// The person who follows a link.
    func following(_ link: ShortGUIDDictionary) -> ParticipantIdentity {
        var person = self
        person.oneTimeToken = link.oneTimeToken
        return person
    }
}

extension UserIdentityDictionary {
    /// Copies the person's name: a participant of a share is named there, whether or not others can discover the
    /// person.
    mutating func takeName(of person: ParticipantIdentity) {
        givenName = person.dictionary.givenName
        familyName = person.dictionary.familyName
    }
}

extension RequestContext {
    /// The caller as the invitations of shares identify people.
    func participantIdentity(
        in directory: any Directory
    ) async throws -> ParticipantIdentity {
        guard let row = try await directory.user(recordName: user()) else {
            throw ServiceError.signInNeeded
        }
        return ParticipantIdentity(row)
    }
}

extension RecordSharing.Share {
    /// The participant that a person is, if any: first among those who have joined, then among those who were invited.
    func index(of person: ParticipantIdentity) -> Int? {
        participants.firstIndex {
            $0.dictionary.userIdentity.userRecordName == person.userRecordName
                && $0.dictionary.status == .accepted
        }
            ?? participants.firstIndex {
                $0.dictionary.userIdentity.userRecordName == person.userRecordName
            }
            ?? participants.firstIndex {
                $0.dictionary.userIdentity.userRecordName == nil
                    && person.matches($0.dictionary.userIdentity)
            }
    }
}

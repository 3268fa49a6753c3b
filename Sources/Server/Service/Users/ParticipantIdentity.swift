import StratusRecords
import StratusStorage
import StratusWire

/// A caller as a share's invitations know persons: the one place that says which addresses are whose.
struct ParticipantIdentity: Sendable {
    var userRecordName: String
    /// The address that the account has verified, in small letters.
    var emailAddress: String?
    /// What the person's link says beside its short GUID.
    var oneTimeToken: String?
    /// What the owner of a share sees of the person; other participants do not see how it is found.
    var dictionary: UserIdentityDictionary

    init(_ user: UserRow) {
        userRecordName = user.recordName
        emailAddress = user.isEmailVerified ? user.emailAddress.map(Self.normalized) : nil
        dictionary = UserIdentityDictionary(
            userRecordName: user.recordName, givenName: user.givenName,
            familyName: user.familyName, emailAddress: emailAddress,
            lookupUserRecordName: emailAddress == nil ? user.recordName : nil)
    }

    /// Addresses are compared without regard to case: no provider tells them apart by it.
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
    /// Who takes part in a share is named there, whether or not others may find him.
    mutating func takeName(of person: ParticipantIdentity) {
        givenName = person.dictionary.givenName
        familyName = person.dictionary.familyName
    }
}

extension RequestContext {
    /// The caller as invitations know persons.
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
    /// The participant that a person is, if any: as who has joined, else as who was invited.
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

import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

extension ContainerSession {
    typealias FoundIdentity = ItemResult<CKUserIdentityLookupInfo, CKUserIdentity>
    typealias FoundParticipant = ItemResult<CKUserIdentityLookupInfo, CKShareParticipant>

    /// The lengths, in bytes, of an address that the service accepts.
    private static let addressBytes = 1...320

    /// Looks people up; a person who cannot be found has an identity without a user record.
    func identities(
        for lookupInfos: [CKUserIdentityLookupInfo]
    ) async throws -> [FoundIdentity] {
        try await results(
            lookupInfos,
            wire: { info in
                let dictionary = info.dictionary
                let text =
                    dictionary.emailAddress ?? dictionary.phoneNumber ?? dictionary.userRecordName
                guard let text, Self.addressBytes.contains(text.utf8.count) else {
                    throw CKError(
                        .invalidArguments,
                        "The address to look up is empty or longer than 320 bytes;"
                            + " give one of 1 to 320.")
                }
                return dictionary
            },
            ask: { try await send(UsersDiscover.self, .init(lookupInfos: $0)).items },
            read: { info, answer in
                try AnswerMatching.check(answer, info.dictionary)
                var identity = answer
                identity.lookupInfo = identity.lookupInfo ?? info.dictionary
                return CKUserIdentity(identity)
            })
    }

    /// Looks up people as participants to add to a share.
    ///
    /// Anyone can be invited by an address: the service does not reveal who has an account.
    func participants(
        for lookupInfos: [CKUserIdentityLookupInfo]
    ) async throws -> [FoundParticipant] {
        try await identities(for: lookupInfos).map { info, result in
            (
                info,
                result.map { identity in
                    CKShareParticipant(
                        ParticipantDictionary(
                            participantID: core.connection.world.makeUUID().uuidString,
                            userIdentity: identity.dictionary, permission: .readOnly))
                }
            )
        }
    }

    /// The people in the user's address book; always empty, because Stratus's service has no
    /// address book.
    func contacts() async throws -> [CKUserIdentity] {
        try await send(UsersDiscover.self, .init(lookupInfos: [])).items.map { CKUserIdentity($0) }
    }

    /// Whether other users of the container can find the user.
    ///
    /// - Parameter wanted: the new setting; nil changes nothing.
    func isDiscoverable(wanted: Bool? = nil) async throws -> Bool {
        try await send(UsersPermission.self, .init(userDiscoverability: wanted))
            .userDiscoverability
    }

    /// A web-auth token of the user for another API token of the container.
    func webAuthToken(forAPIToken apiToken: String) async throws -> String {
        try core.connection.checkAccount()
        do {
            return try await core.connection.accountTransport.webAuthToken(
                forAPIToken: apiToken, to: sender.target, timeoutSeconds: pace.requestSeconds)
        } catch {
            throw CKError(requestFailedWith: error)
        }
    }
}

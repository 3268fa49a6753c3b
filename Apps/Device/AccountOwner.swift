import StratusRuntime

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// The owner of a file's data.
package enum AccountOwner: Hashable, Sendable {
    /// No account yet.
    case nobody
    /// A user who signs in by a name, at a service that runs with `--dev`.
    case developmentUser(String)
    /// A user, by the record name that the service gave them.
    case user(recordName: String)
}

extension Account {
    /// The user whose data to open.
    ///
    /// A token that was used on this device needs no network, because its user is known. Any other token is checked
    /// with the service first, so that its user does not get the data of the previous user of this device.
    ///
    /// - Parameters:
    ///   - service: asks the service for the user record name; nil when this session starts offline.
    package func owner(
        knownTokens: KnownTokens, asking service: (() async throws -> String)?
    ) async throws -> AccountOwner {
        switch credential {
        case .none: return .nobody
        case .developmentUser(let name): return .developmentUser(name)
        case .signedIn(let recordName): return .user(recordName: recordName)
        case .webAuthToken(let token):
            if let recordName = knownTokens.userRecordName(of: token) {
                return .user(recordName: recordName)
            }
            guard serviceURL != nil else { return .nobody }
            guard let service else {
                throw OneSentence(
                    "This device does not know yet whose token STRATUS_WEB_AUTH_TOKEN "
                        + "is. Start the app once without --offline, with the service in reach.")
            }
            let recordName = try await answer(of: service)
            try knownTokens.remember(recordName, of: token)
            return .user(recordName: recordName)
        }
    }

    private func answer(of service: () async throws -> String) async throws -> String {
        do {
            return try await service()
        } catch CKError.notAuthenticated, CKError.accountTemporarilyUnavailable {
            throw OneSentence(
                "The service at \(serviceURL ?? "") does not accept this "
                    + "STRATUS_WEB_AUTH_TOKEN. Set a new token, or unset it to work on this "
                    + "device alone.")
        } catch {
            throw OneSentence(
                "This device does not know yet whose token STRATUS_WEB_AUTH_TOKEN is, "
                    + "and the service at \(serviceURL ?? "") did not say. Start the app once while "
                    + "the service can be reached. Cause: \(error)")
        }
    }
}

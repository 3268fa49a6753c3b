import Foundation
import StratusRecords
import StratusWire

/// The state that containers and their databases share; one for each identifier and connection, see
/// `CloudConnection.containerCore(_:)`.
final class ContainerCore: Sendable {
    let identifier: String
    let connection: CloudConnection
    let operationQueue = OperationQueue()
    /// The queue of the convenience calls' completion handlers: one at a time, never on the main
    /// queue.
    let callbackQueue = DispatchQueue(label: "stratus.container.callbacks")
    let encryptedFields: EncryptedFieldMemory

    init(identifier: String, connection: CloudConnection) {
        self.identifier = identifier
        self.connection = connection
        encryptedFields = EncryptedFieldMemory(
            store: connection.keyring.store, container: identifier,
            environment: connection.environment)
    }

    var address: ContainerAddress {
        ContainerAddress(container: identifier, environment: connection.environment)
    }

    func sender(scope: DatabaseScope?, pace: RequestPace) -> RequestSender {
        RequestSender(
            connection: connection, target: RequestTarget(container: address, scope: scope),
            pace: pace)
    }
}

extension ContainerCore {
    /// The record name of the user who is signed in; requested once.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    func userRecordName(pace: RequestPace) async throws -> String {
        try connection.checkConfigured()
        try connection.checkAccount()
        if let known = connection.userRecordName(container: identifier) { return known }
        return try await askedUserRecordName(pace: pace)
    }

    /// The record name of the user, requested now.
    func askedUserRecordName(pace: RequestPace) async throws -> String {
        let changeCount = connection.accountChangeCount
        let answer = try await sender(scope: .public, pace: pace)
            .send(UsersCaller.self, EmptyBody())
        guard let name = answer.identity.userRecordName else {
            throw CKError(.internalError, "The service's answer names no user; try again.")
        }
        connection.rememberUser(name, container: identifier, changeCount: changeCount)
        return name
    }
}

import Foundation
import Logging
import StratusRecords
import StratusService
import StratusStorage
import TestServing
import Testing

@testable import StratusClient

/// A service without `--dev`, over HTTP, with two accounts and an app's token; and a device's folder.
struct SignInScene: Sendable {
    static let container = "iCloud.org.example.Trails"
    static let ida = "ida@example.org"
    static let ole = "ole@example.org"
    private static let address = ContainerAddress(
        container: container, environment: .development)

    let origin: String
    let apiToken: String
    let folder: URL

    /// - Parameter callbackURL: The address to which the app's token allows a redirect.
    static func run(
        callbackURL: String? = CallbackAddress.loopback,
        _ body: @escaping @Sendable (SignInScene, PlayedBrowser) async throws -> Void
    ) async throws {
        let scratch = try Scratch()
        var settings = ServiceSettings(isForDevelopment: false)
        settings.accounts.passwordCost = .init(logRounds: 1, blockSize: 1, parallelism: 1)
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        for name in [ida, ole] {
            _ = try await service.accounts.createUser(
                emailAddress: name, password: "correct horse", givenName: "", familyName: "",
                isEmailVerified: false)
        }
        let token = try await service.accounts.createAPIToken(
            for: address, name: "app", callbackURL: callbackURL)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        try await withServer(service, logger: logger) { port in
            let scene = SignInScene(
                origin: "http://127.0.0.1:\(port)", apiToken: token, folder: scratch.folder)
            try await PlayedBrowser.run { try await body(scene, $0) }
        }
    }

    /// The app on Ida's device, after she signed in with her password.
    func startedByIda() async throws -> (CKContainer, CKRecord.ID) {
        let app = start()
        return (app, try await app.signIn(emailAddress: Self.ida, password: "correct horse"))
    }

    /// The app after its start on the device.
    func start(world: CloudConnection.World = .init(), deviceID: String = "phone") -> CKContainer {
        let connection = CloudConnection(
            environmentVariables: [
                "STRATUS_URL": origin, "STRATUS_API_TOKEN": apiToken,
                "STRATUS_KEY_FOLDER": folder.path, "STRATUS_DEVICE_ID": deviceID,
            ], world: world)
        return CKContainer(identifier: Self.container, connection: connection)
    }

    /// The files in which the device stores a sign-in.
    var keptFiles: [URL] {
        get throws {
            try FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: nil
            ).filter { $0.pathExtension == "sign-in" }
        }
    }
}

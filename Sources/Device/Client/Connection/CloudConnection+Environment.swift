import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

extension CloudConnection {
    /// Makes a connection from environment variables:
    ///
    /// | variable | meaning |
    /// | --- | --- |
    /// | `STRATUS_URL` | where the service is, such as `http://127.0.0.1:8080`; required |
    /// | `STRATUS_API_TOKEN` | default `development`, the token of `stratus serve --dev` |
    /// | `STRATUS_WEB_AUTH_TOKEN` | a user's token |
    /// | `STRATUS_DEV_USER` | signs in under this name at a service that runs with `--dev` |
    /// | `STRATUS_DEVICE_ID` | names the device; else a random name for each process |
    /// | `STRATUS_ENVIRONMENT` | `development` (default) or `production` |
    /// | `STRATUS_KEY_FOLDER` | keeps the sign-in and the keys of encrypted values; see ``FileKeyStore`` |
    /// | `STRATUS_OPERATION_FOLDER` | keeps long-lived operations |
    /// | `SSL_CERT_FILE`, `https_proxy`, … | see ``HTTPTransport/Network`` |
    ///
    /// If the variables name no user, the sign-in that this device keeps is resumed
    /// (``CKContainer/signIn(timeoutSeconds:openPage:)``).
    ///
    /// Without `STRATUS_URL`, or with a wrong value, every request fails with
    /// `CKError.badContainer` and a sentence that says which variable to set.
    public convenience init(environmentVariables: [String: String], world: World = World()) {
        let word = environmentVariables["STRATUS_ENVIRONMENT"] ?? "development"
        let environment = ContainerEnvironment(rawValue: word)
        let deviceID = environmentVariables["STRATUS_DEVICE_ID"] ?? world.makeUUID().uuidString
        let credentials = HTTPTransport.Credentials(
            apiToken: environmentVariables["STRATUS_API_TOKEN"] ?? "development",
            webAuthToken: environmentVariables["STRATUS_WEB_AUTH_TOKEN"],
            developmentUser: environmentVariables["STRATUS_DEV_USER"])
        let transport: any Transport
        if environment == nil {
            transport = UnconfiguredTransport(
                sentence:
                    "STRATUS_ENVIRONMENT is \(word), neither development nor production; set it to"
                    + " one of them.")
        } else if let text = environmentVariables["STRATUS_URL"], !text.isEmpty {
            transport =
                HTTPTransport(
                    origin: text, credentials: credentials, deviceID: deviceID,
                    network: HTTPTransport.Network(environmentVariables: environmentVariables),
                    world: world)
                ?? UnconfiguredTransport(
                    sentence: "STRATUS_URL is not an http or https address; set it to one such as"
                        + " http://127.0.0.1:8080.", address: text)
        } else {
            transport = UnconfiguredTransport(
                sentence: "STRATUS_URL is not set; set it to the address of a Stratus service.")
        }
        self.init(
            transport: transport, environment: environment ?? .development,
            hasAccount: credentials.namesUser, deviceID: deviceID, world: world,
            keyStore: FileKeyStore(
                folder: environmentVariables["STRATUS_KEY_FOLDER"].map {
                    URL(fileURLWithPath: $0, isDirectory: true)
                }),
            operationFolder: environmentVariables["STRATUS_OPERATION_FOLDER"].map {
                URL(fileURLWithPath: $0, isDirectory: true)
            })
        if !credentials.namesUser { resumeFirstSignIn() }
    }

    /// If the kept sign-in cannot be read, no user is signed in; `resumeSignIn` and signing in
    /// report the problem with its file.
    private func resumeFirstSignIn() {
        do {
            _ = try takeKeptSignIn()
        } catch {
            signIns.refuses(CKError(requestFailedWith: error))
        }
    }
}

/// Fails every request with a sentence that says what to configure.
struct UnconfiguredTransport: Transport {
    var sentence: String
    /// The invalid text that was given as the address.
    var address: String?

    var error: TransportError { TransportError(.notConfigured, sentence, address: address) }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        throw error
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        throw error
    }
}

extension CloudConnection {
    /// Checks that a service is configured, before checks for other missing things, such as an
    /// account.
    ///
    /// - Throws: `CKError.badContainer`.
    func checkConfigured() throws {
        if let transport = transport as? UnconfiguredTransport {
            throw CKError(requestFailedWith: transport.error)
        }
        if let refusal = signIns.refusal { throw refusal }
    }

    /// The service's address, for errors about wrong configuration; nil for a transport without
    /// one.
    package var serviceAddress: String? { (transport as? HTTPTransport)?.origin }

    /// Checks that a user is signed in on this device.
    ///
    /// - Throws: `CKError.notAuthenticated`.
    func checkAccount() throws {
        guard hasAccount else {
            throw CKError.notSignedIn(
                "There is no account on this device; sign in.", at: serviceAddress)
        }
    }
}

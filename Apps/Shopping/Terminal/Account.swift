/// Who uses the app, and at which service, as the environment says.
struct Account: Sendable {
    /// How a person says who they are.
    enum Credential: Hashable, Sendable {
        case none
        /// The name at a service that runs with `--dev`.
        case developmentUser(String)
        /// It names nobody: whose it is, only the service and ``KnownTokens`` say.
        case webAuthToken(String)
        /// Who signed in with `shopping sign-in`, by the user's record name.
        case signedIn(String)
    }

    /// Who others read as the author of changes.
    let author: String
    let credential: Credential
    let serviceURL: String?
    let deviceName: String?
    /// Why this device shares nothing; nil when it does.
    let localOnlyReason: String?

    /// - Parameter signedIn: the user of the sign-in that this device keeps.
    init(environment: [String: String], signedIn: String? = nil) {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let developmentUser = value("STRATUS_DEV_USER")
        serviceURL = value("STRATUS_URL")
        deviceName = value("STRATUS_DEVICE_ID")
        author = developmentUser ?? value("USER") ?? "somebody"
        // The token first, as the connection does: the lists belong to the account that syncs them.
        credential =
            value("STRATUS_WEB_AUTH_TOKEN").map { .webAuthToken($0) }
            ?? developmentUser.map { .developmentUser($0) } ?? signedIn.map { .signedIn($0) }
            ?? .none
        if serviceURL == nil {
            localOnlyReason =
                "The lists stay on this device. To share them, see shopping --help: STRATUS_URL."
        } else if credential == .none {
            localOnlyReason =
                "The lists stay on this device until you sign in: shopping sign-in, or STRATUS_DEV_USER "
                + "at a service that runs with --dev."
        } else {
            localOnlyReason = nil
        }
    }
}

/// Who uses an app, and at which service, as the environment says.
package struct Account: Sendable {
    /// How a person says who they are.
    package enum Credential: Hashable, Sendable {
        case none
        /// The name at a service that runs with `--dev`.
        case developmentUser(String)
        /// It names nobody: whose it is, only the service and ``KnownTokens`` say.
        case webAuthToken(String)
        /// Who signed in with `the app's `sign-in`, by the user's record name.
        case signedIn(String)
    }

    /// Who others read as the author of changes.
    package let author: String
    package let credential: Credential
    package let serviceURL: String?
    package let deviceName: String?
    /// Why this device shares nothing; nil when it does.
    package let localOnlyReason: String?

    /// - Parameters:
    ///   - signedIn: the user of the sign-in that this device keeps.
    ///   - app: the command's name, for what the person is told to type.
    ///   - content: what the app keeps, as a sentence begins with it: "The lists stay".
    package init(
        environment: [String: String], signedIn: String? = nil, app: String, content: String
    ) {
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
                "\(content) on this device. To have all devices in step, see \(app) --help: STRATUS_URL."
        } else if credential == .none {
            localOnlyReason =
                "\(content) on this device until you sign in: \(app) sign-in, or STRATUS_DEV_USER "
                + "at a service that runs with --dev."
        } else {
            localOnlyReason = nil
        }
    }
}

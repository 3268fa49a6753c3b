import Foundation

/// The user and the service of an app, from the environment.
package struct Account: Sendable {
    /// How the user identifies themselves.
    package enum Credential: Hashable, Sendable {
        case none
        /// The name at a service that runs with `--dev`.
        case developmentUser(String)
        /// A token. Its user is known from the service or from ``KnownTokens``.
        case webAuthToken(String)
        /// A user who signed in with the app's `sign-in`, by the user's record name.
        case signedIn(String)
    }

    /// The author of entries without a name.
    package static let unnamed = "somebody"

    /// The author's name that others see.
    package let author: String
    package let credential: Credential
    package let serviceURL: String?
    package let deviceName: String?
    /// Why this device does not sync; nil when it does.
    package let localOnlyReason: String?
    /// What to do when the device has a sign-in at a service that the environment does not name;
    /// nil otherwise.
    package let signInElsewhere: String?

    /// - Parameters:
    ///   - signedIn: the user of the sign-in that this device keeps.
    ///   - app: the command's name, for instructions to the person.
    ///   - content: what the app keeps, as the beginning of a sentence: "The lists stay".
    ///   - keepsSignIn: whether the device keeps any sign-in, perhaps at another service.
    package init(
        environment: [String: String], signedIn: String? = nil, app: String, content: String,
        keepsSignIn: Bool = false
    ) {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let developmentUser = value("STRATUS_DEV_USER")
        serviceURL = value("STRATUS_URL")
        deviceName = value("STRATUS_DEVICE_ID")
        author = developmentUser ?? value("USER") ?? Self.unnamed
        // The token takes precedence, as in the connection: the lists belong to the account that
        // syncs them.
        credential =
            value("STRATUS_WEB_AUTH_TOKEN").map { .webAuthToken($0) }
            ?? developmentUser.map { .developmentUser($0) } ?? signedIn.map { .signedIn($0) }
            ?? .none
        let reason: String? =
            if let serviceURL, !Self.isAddress(serviceURL) {
                "\(content) on this device: STRATUS_URL is \"\(serviceURL)\", which is not an address; set "
                    + "it to one such as http://127.0.0.1:8080."
            } else if serviceURL == nil {
                "\(content) on this device. To keep all devices in sync, set STRATUS_URL; see \(app) --help."
            } else if credential == .none {
                "\(content) on this device until you sign in: run \(app) sign-in, or set "
                    + "STRATUS_DEV_USER at a service that runs with --dev."
            } else {
                nil
            }
        let elsewhere =
            reason != nil && credential == .none && keepsSignIn
            ? "Another user is signed in here, at another address or with another API token: set STRATUS_URL and "
                + "STRATUS_API_TOKEN as they were then to see that account's data again."
            : nil
        signInElsewhere = elsewhere
        localOnlyReason = reason.map { [$0, elsewhere].compactMap(\.self).joined(separator: " ") }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let url = URL(string: text), url.host()?.isEmpty == false else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased())
    }
}

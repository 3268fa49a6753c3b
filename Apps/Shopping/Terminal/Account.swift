import Foundation

/// Who uses the app, and at which service, as the environment says.
struct Account: Sendable {
    /// Who others read as the author of changes.
    let author: String
    /// Tells the files of several accounts apart; nil for lists that no account has yet.
    let fileKey: String?
    let serviceURL: String?
    let deviceName: String?
    /// Why this device shares nothing; nil when it does.
    let localOnlyReason: String?

    init(environment: [String: String]) {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let developmentUser = value("STRATUS_DEV_USER")
        serviceURL = value("STRATUS_URL")
        deviceName = value("STRATUS_DEVICE_ID")
        author = developmentUser ?? value("USER") ?? "somebody"
        fileKey =
            developmentUser.map { "user-" + $0 }
            ?? value("STRATUS_WEB_AUTH_TOKEN").map { _ in "signed-in" }
        if serviceURL == nil {
            localOnlyReason =
                "The lists stay on this device. To share them, see shopping --help: STRATUS_URL."
        } else if developmentUser == nil, value("STRATUS_WEB_AUTH_TOKEN") == nil {
            localOnlyReason =
                "The lists stay on this device until you sign in: set STRATUS_DEV_USER or "
                + "STRATUS_WEB_AUTH_TOKEN."
        } else {
            localOnlyReason = nil
        }
    }
}

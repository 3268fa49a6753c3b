import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// Describes errors to the user in sentences.
package enum ShoppingSentence {
    package static func of(_ error: any Error) -> String {
        switch error {
        case CKError.participantMayNeedVerification:
            "The list was shared with an e-mail address, and the service does not know yet that it is yours: who runs "
                + "the service says so with stratus user verify. Or its owner opens the link: link ask."
        case let error as CKError: "The service did not do it: \(error.localizedDescription)"
        default: "\(error)"
        }
    }
}

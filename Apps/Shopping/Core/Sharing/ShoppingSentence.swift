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
            "The list was shared with an e-mail address, and the service does not know yet that it is yours. Ask the "
                + "operator of the service to run stratus user verify, or the list's owner to open the link (link ask)."
        case let error as CKError:
            "The service refused the request, or could not be reached: \(error.localizedDescription)"
        default: "\(error)"
        }
    }
}

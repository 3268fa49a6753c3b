import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// What went wrong, for a person.
package enum ShoppingSentence {
    package static func of(_ error: any Error) -> String {
        switch error {
        case let error as CKError: "The service did not do it: \(error.localizedDescription)"
        case let error as CacheError:
            "\(error)\(error.failure.map { " \($0.message)" } ?? "")"
        default: "\(error)"
        }
    }
}

import Foundation

/// The journal of an operation that an earlier process began, and its account.
struct OperationOrigin: Sendable {
    var author: String
    var folder: URL
}

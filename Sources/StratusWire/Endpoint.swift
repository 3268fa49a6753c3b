import StratusRecords

/// A value that the protocol writes as JSON, and reads back.
public typealias WireValue = Hashable & Sendable

/// One address of the protocol: its path, its typed request and its typed answer.
///
/// The same two types are used by the service, by HTTP and by the in-process transport, so that there
/// is one shape of each and no second set to drift.
public protocol Endpoint: Sendable {
    associatedtype Request: WireValue
    associatedtype Answer: WireValue

    /// Entity and action, such as `records/modify`.
    static var path: String { get }

    /// Whether the path has a database segment (`public`, `private`, `shared`).
    static var isInDatabase: Bool { get }

    /// Whether the endpoint is asked with GET when there is nothing to say. POST is accepted too.
    static var isReadWithoutBody: Bool { get }
}

extension Endpoint {
    public static var isInDatabase: Bool { true }
    public static var isReadWithoutBody: Bool { false }
}

/// A request or an answer without content: `{}`.
public struct EmptyBody: Hashable, Sendable {
    public init() {}
}

/// What is wrong with a body that is JSON, or should be.
public struct WireError: Error, Hashable, Sendable {
    /// A constant sentence.
    public var reason: String
    /// The key at which reading stopped, such as `operations[3].record.fields`.
    public var path: String

    public init(_ reason: String, at path: String = "") {
        self.reason = reason
        self.path = path
    }
}

import StratusRecords

/// A request or an answer that is nothing but a list, such as `{"zones": […]}`.
public struct ListBody<Item: ListItem>: WireObject, Hashable, Sendable {
    /// In an answer one per item of the request, in the request's order.
    public var items: [Item] = []

    /// Makes a body of the given items.
    public init(_ items: [Item]) {
        self.items = items
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required(Item.listKey, &items)
    }
}

/// An item in the list of a ``ListBody``.
public protocol ListItem: WireValue {
    /// The key of the list.
    static var listKey: StaticString { get }
}

/// An item of an answer is the requested value, or why it failed.
extension Result: WireReadable where Success: WireReadable, Failure: WireReadable {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(try Failure(wire: node)) : .success(try Success(wire: node))
    }
}

extension Result: WireWritable where Success: WireWritable, Failure: WireWritable {
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .success(let item): item.write(to: &writer)
        case .failure(let failure): failure.write(to: &writer)
        }
    }
}

extension Result: ListItem where Success: ListItem, Failure: WireValue {
    public static var listKey: StaticString { Success.listKey }
}

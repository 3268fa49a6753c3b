import StratusRecords

/// A JSON object of the protocol whose members are listed once, for reading and for writing.
///
/// ```swift
/// struct Session: WireObject {
///     var deviceID = ""
///     var lastUsedMilliseconds: Int64?
///
///     mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
///         try coder.required("deviceID", &deviceID)
///         try coder.optional("lastUsed", &lastUsedMilliseconds)
///     }
/// }
/// ```
///
/// Types whose members depend on each other read and write themselves (``WireReadable``,
/// ``WireWritable``).
public protocol WireObject: WireReadable, WireWritable {
    /// Creates a value without content, which is then read into.
    init()

    /// Passes every member to the reader or the writer, in the order in which they are written.
    mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure)
}

/// Reads or writes the members of an object, one after the other.
public protocol WireCoder: ~Copyable {
    /// ``WireError`` for a reader, `Never` for a writer.
    associatedtype Failure: Error

    /// A required member.
    mutating func required<Value: WireReadable & WireWritable>(
        _ key: StaticString, _ value: inout Value
    ) throws(Failure)

    /// A member that is written only when there is a value; null is absent.
    mutating func optional<Value: WireReadable & WireWritable>(
        _ key: StaticString, _ value: inout Value?
    ) throws(Failure)

    /// A member that is always written, and keeps its default when it is absent.
    mutating func defaulted<Value: WireReadable & WireWritable>(
        _ key: StaticString, _ value: inout Value
    ) throws(Failure)

    /// A Boolean that is false when it is absent, and written only when it is true.
    mutating func flag(_ key: StaticString, _ value: inout Bool) throws(Failure)

    /// An array that is empty when it is absent, and written only when it is not.
    mutating func nonempty<Element: WireReadable & WireWritable>(
        _ key: StaticString, _ values: inout [Element]
    ) throws(Failure)

    /// A member that is an object with only a record's name.
    mutating func recordName(_ key: StaticString, _ name: inout String?) throws(Failure)

    /// The members of an error, which are beside the identifier of the failed item.
    mutating func error(_ error: inout ServiceError) throws(Failure)

    /// `numbersAsStrings`, read also in the spelling of Apple's page on changes/zone.
    mutating func numbersAsStrings(_ value: inout Bool) throws(Failure)
}

extension WireObject {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        try self.init(membersOf: node)
    }

    /// Reads the members of a node that is known to be an object.
    init(membersOf node: JSONNode) throws(WireError) {
        self.init()
        var reader = MemberReader(node: node)
        try members(&reader)
    }

    /// Writes an object with the members that ``members(_:)`` passes to the writer.
    public func write(to writer: inout JSONWriter) {
        var object = self
        writer.object { object.members(&$0) }
    }
}

/// Sets the members of a value from a parsed object.
struct MemberReader: WireCoder {
    let node: JSONNode

    mutating func required<Value: WireReadable>(
        _ key: StaticString, _ value: inout Value
    ) throws(WireError) {
        value = try node.required(key)
    }

    mutating func optional<Value: WireReadable>(
        _ key: StaticString, _ value: inout Value?
    ) throws(WireError) {
        value = try node.optional(key)
    }

    mutating func defaulted<Value: WireReadable>(
        _ key: StaticString, _ value: inout Value
    ) throws(WireError) {
        if let found: Value = try node.optional(key) { value = found }
    }

    mutating func flag(_ key: StaticString, _ value: inout Bool) throws(WireError) {
        try defaulted(key, &value)
    }

    mutating func nonempty<Element: WireReadable>(
        _ key: StaticString, _ values: inout [Element]
    ) throws(WireError) {
        try defaulted(key, &values)
    }

    mutating func recordName(_ key: StaticString, _ name: inout String?) throws(WireError) {
        name = try node[key]?.optional("recordName")
    }

    mutating func error(_ error: inout ServiceError) throws(WireError) {
        error = try ServiceError(wire: node)
    }

    mutating func numbersAsStrings(_ value: inout Bool) throws(WireError) {
        if let found = try node.numbersAsStrings() { value = found }
    }
}

extension JSONWriter: WireCoder {
    public mutating func required<Value: WireWritable>(
        _ key: StaticString, _ value: inout Value
    ) {
        member(key, value)
    }

    public mutating func optional<Value: WireWritable>(
        _ key: StaticString, _ value: inout Value?
    ) {
        optional(key, value)
    }

    public mutating func defaulted<Value: WireWritable>(
        _ key: StaticString, _ value: inout Value
    ) {
        member(key, value)
    }

    public mutating func flag(_ key: StaticString, _ value: inout Bool) {
        flag(key, value)
    }

    public mutating func nonempty<Element: WireWritable>(
        _ key: StaticString, _ values: inout [Element]
    ) {
        if !values.isEmpty { member(key, values) }
    }

    public mutating func recordName(_ key: StaticString, _ name: inout String?) {
        if let name { recordName(key, name) }
    }

    public mutating func error(_ error: inout ServiceError) {
        error.writeMembers(to: &self)
    }

    public mutating func numbersAsStrings(_ value: inout Bool) {
        flag("numbersAsStrings", value)
    }
}

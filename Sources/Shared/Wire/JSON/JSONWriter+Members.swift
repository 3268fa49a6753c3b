extension JSONWriter {
    /// Writes a member with a key that needs no escapes.
    @inlinable
    public mutating func member(_ key: StaticString, _ value: some WireWritable) {
        self.key(key)
        value.write(to: &self)
    }

    /// Writes a member only when there is a value.
    @inlinable
    public mutating func optional(_ key: StaticString, _ value: (some WireWritable)?) {
        if let value { member(key, value) }
    }

    /// Writes a Boolean that is false by default.
    public mutating func flag(_ key: StaticString, _ value: Bool) {
        if value { member(key, true) }
    }

    /// Writes an array of strings that is empty by default.
    public mutating func nonempty(_ key: StaticString, _ values: [String]) {
        if !values.isEmpty { member(key, values) }
    }

    /// Writes an object with nothing but a record's name.
    mutating func recordName(_ key: StaticString, _ name: String) {
        self.key(key)
        object { $0.member("recordName", name) }
    }
}

extension String: WireWritable {
    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: WireWritable {
    public func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int64: WireWritable {
    public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Int: WireWritable {
    public func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Double: WireWritable {
    public func write(to writer: inout JSONWriter) { writer.double(self) }
}

extension Array: WireWritable where Element: WireWritable {
    public func write(to writer: inout JSONWriter) {
        writer.array { writer in
            for element in self { element.write(to: &writer) }
        }
    }
}

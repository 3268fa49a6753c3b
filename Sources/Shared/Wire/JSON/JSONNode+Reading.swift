extension JSONNode {
    /// Reads the last member with this key; nil when it is absent or null.
    func optional<Value: WireReadable>(
        _ key: StaticString, as type: Value.Type = Value.self
    ) throws(WireError) -> Value? {
        guard let node = self[key], !node.isNull else { return nil }
        do {
            return try Value(wire: node)
        } catch {
            throw error.within(key)
        }
    }

    /// Reads a member that has two spellings.
    func optional<Value: WireReadable>(
        _ key: StaticString, or otherKey: StaticString
    ) throws(WireError) -> Value? {
        if let value = try optional(key, as: Value.self) { return value }
        return try optional(otherKey)
    }

    /// Reads the last member with this key.
    func required<Value: WireReadable>(
        _ key: StaticString, as type: Value.Type = Value.self
    ) throws(WireError) -> Value {
        guard let value = try optional(key, as: type) else {
            throw WireError("This key is required.").within(key)
        }
        return value
    }

    /// Reads `numbersAsStrings`, also in the spelling of Apple's page on changes/zone.
    func numbersAsStrings() throws(WireError) -> Bool? {
        try optional("numbersAsStrings", or: "numberAsStrings")
    }

    /// Checks that the value is an object.
    func expectObject() throws(WireError) {
        guard isObject else { throw WireError("Expected an object.") }
    }
}

extension WireError {
    /// The same error with the path from the container of the key.
    func within(_ key: StaticString) -> WireError {
        within(key.description)
    }

    func within(_ key: String) -> WireError {
        var error = self
        error.path = path.isEmpty || path.hasPrefix("[") ? key + path : "\(key).\(path)"
        return error
    }

    /// The same error with the path from the array of the element.
    func within(index: Int) -> WireError {
        var error = self
        error.path =
            path.isEmpty || path.hasPrefix("[") ? "[\(index)]\(path)" : "[\(index)].\(path)"
        return error
    }
}

extension String: WireReadable {
    public init(wire node: JSONNode) throws(WireError) {
        guard let string = node.string else { throw WireError("Expected a string.") }
        self = string
    }
}

extension Int64: WireReadable {
    /// Reads a whole number, also from a string of digits.
    public init(wire node: JSONNode) throws(WireError) {
        guard let value = node.int64 ?? node.string.flatMap({ Int64($0) }) else {
            throw WireError("Expected a whole number.")
        }
        self = value
    }
}

extension Int: WireReadable {
    public init(wire node: JSONNode) throws(WireError) {
        guard let value = Int(exactly: try Int64(wire: node)) else {
            throw WireError("Expected a whole number.")
        }
        self = value
    }
}

extension Double: WireReadable {
    /// Reads a number, also from a string.
    public init(wire node: JSONNode) throws(WireError) {
        guard let value = node.double ?? node.string.flatMap({ Double($0) }), value.isFinite else {
            throw WireError("Expected a number.")
        }
        self = value
    }
}

extension Bool: WireReadable {
    /// Reads `true` and `false`, and 1 and 0 for clients whose language has no Boolean.
    public init(wire node: JSONNode) throws(WireError) {
        if let bool = node.bool {
            self = bool
        } else if let number = node.int64, number == 0 || number == 1 {
            self = number == 1
        } else {
            throw WireError("Expected true or false.")
        }
    }
}

extension Array: WireReadable where Element: WireReadable {
    public init(wire node: JSONNode) throws(WireError) {
        guard node.isArray else { throw WireError("Expected an array.") }
        self.init()
        reserveCapacity(node.count)
        for element in node.elements {
            do {
                append(try Element(wire: element))
            } catch {
                throw error.within(index: count)
            }
        }
    }
}

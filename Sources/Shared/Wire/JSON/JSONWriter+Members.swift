extension JSONWriter {
    public mutating func member(_ key: StaticString, _ value: String) {
        self.key(key)
        string(value)
    }

    public mutating func member(_ key: StaticString, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    public mutating func member(_ key: StaticString, _ value: Int64) {
        self.key(key)
        integer(value)
    }

    public mutating func member(_ key: StaticString, _ value: Int) {
        self.key(key)
        integer(Int64(value))
    }

    public mutating func member(_ key: StaticString, _ value: Double) {
        self.key(key)
        double(value)
    }

    public mutating func member(_ key: StaticString, _ value: some WireWritable) {
        self.key(key)
        value.write(to: &self)
    }

    public mutating func member(_ key: StaticString, _ values: [String]) {
        self.key(key)
        array { writer in
            for value in values { writer.string(value) }
        }
    }

    public mutating func member(_ key: StaticString, _ values: [some WireWritable]) {
        self.key(key)
        array { writer in
            for value in values { value.write(to: &writer) }
        }
    }

    /// Writes a member only when there is a value; likewise its namesakes.
    public mutating func optional(_ key: StaticString, _ value: String?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ value: Bool?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ value: Int64?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ value: Int?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ value: Double?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ value: (some WireWritable)?) {
        if let value { member(key, value) }
    }

    public mutating func optional(_ key: StaticString, _ values: [String]?) {
        if let values { member(key, values) }
    }

    /// Writes a Boolean that is false by default.
    public mutating func flag(_ key: StaticString, _ value: Bool) {
        if value { member(key, true) }
    }

    /// Writes an array of strings that is empty by default.
    public mutating func nonempty(_ key: StaticString, _ values: [String]) {
        if !values.isEmpty { member(key, values) }
    }
}

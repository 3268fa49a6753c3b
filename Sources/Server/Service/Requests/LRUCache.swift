/// What was read lately, within a bound: when it is full, everything is forgotten and read anew.
struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    let capacity: Int
    private var values: [Key: Value] = [:]

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { values.count }

    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            if newValue != nil, values.count >= capacity, values[key] == nil { values = [:] }
            values[key] = newValue
        }
    }

    mutating func removeAll(where isStale: (Value) -> Bool) {
        values = values.filter { !isStale($0.value) }
    }

    mutating func removeAll() {
        values = [:]
    }
}

/// What was used lately, within a bound: when it is full, what was used longest ago gives way.
///
/// Reading and writing take the same time however much it holds.
///
/// ```swift
/// var cache = LRUCache<String, Int>(capacity: 2)
/// cache["a"] = 1
/// cache["b"] = 2
/// _ = cache["a"]
/// cache["c"] = 3            // "b" gives way
/// ```
public struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A place in the list from the entry used last to the one used longest ago.
    private struct Entry: Sendable {
        var key: Key
        var value: Value
        var newer: Int?
        var older: Int?
    }

    /// How many entries are kept at the most; at least one.
    public let capacity: Int

    private var places: [Key: Int] = [:]
    private var entries: [Entry?] = []
    private var freePlaces: [Int] = []
    private var newest: Int?
    private var oldest: Int?

    public init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    public var count: Int { places.count }

    public subscript(key: Key) -> Value? {
        mutating get {
            guard let place = places[key] else { return nil }
            moveToFront(place)
            return entries[place]?.value
        }
        set {
            if let place = places[key] {
                guard let newValue else { return remove(place) }
                entries[place]?.value = newValue
                moveToFront(place)
            } else if let newValue {
                insert(key, newValue)
            }
        }
    }

    public mutating func removeAll() {
        self = LRUCache(capacity: capacity)
    }

    /// Removes the entries whose values a condition holds for.
    public mutating func removeAll(where isStale: (Value) -> Bool) {
        for place in entries.indices {
            if let entry = entries[place], isStale(entry.value) { remove(place) }
        }
    }

    private mutating func insert(_ key: Key, _ value: Value) {
        if places.count >= capacity, let oldest { remove(oldest) }
        let entry = Entry(key: key, value: value)
        let place: Int
        if let free = freePlaces.popLast() {
            place = free
            entries[place] = entry
        } else {
            place = entries.count
            entries.append(entry)
        }
        places[key] = place
        linkAtFront(place)
    }

    private mutating func remove(_ place: Int) {
        guard let entry = entries[place] else { return }
        unlink(place)
        places[entry.key] = nil
        entries[place] = nil
        freePlaces.append(place)
    }

    private mutating func moveToFront(_ place: Int) {
        guard place != newest else { return }
        unlink(place)
        linkAtFront(place)
    }

    private mutating func linkAtFront(_ place: Int) {
        entries[place]?.newer = nil
        entries[place]?.older = newest
        if let newest { entries[newest]?.newer = place }
        newest = place
        if oldest == nil { oldest = place }
    }

    private mutating func unlink(_ place: Int) {
        guard let entry = entries[place] else { return }
        if let newer = entry.newer { entries[newer]?.older = entry.older }
        if let older = entry.older { entries[older]?.newer = entry.newer }
        if newest == place { newest = entry.older }
        if oldest == place { oldest = entry.newer }
    }
}

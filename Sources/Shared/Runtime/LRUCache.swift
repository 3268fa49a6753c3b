/// A cache of bounded size: when it is full, the least recently used entry is removed.
///
/// Reading and writing take constant time. Inlinable, so that each module specialises it for its own keys and values:
/// it is read at every request, and must not cost as much as generic code across modules.
///
/// With `Int.max` as its capacity it is an order of use: its owner removes the entries, beginning with ``oldestEntry``.
///
/// ```swift
/// var cache = LRUCache<String, Int>(capacity: 2)
/// cache["a"] = 1
/// cache["b"] = 2
/// _ = cache["a"]
/// cache["c"] = 3            // "b" gives way
/// ```
package struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var key: Key
        @usableFromInline var value: Value

        @inlinable
        init(key: Key, value: Value) {
            self.key = key
            self.value = value
        }
    }

    /// The neighbours of an entry in the list from the most to the least recently used; -1 for none. Apart from the
    /// entries, so that moving one touches neither key nor value.
    @usableFromInline
    struct Link: Sendable {
        @usableFromInline var newer = -1
        @usableFromInline var older = -1

        @inlinable
        init() {}
    }

    /// The most entries that are kept; at least one.
    package let capacity: Int

    @usableFromInline var places: [Key: Int] = [:]
    @usableFromInline var entries: [Entry?] = []
    @usableFromInline var links: [Link] = []
    @usableFromInline var freePlaces: [Int] = []
    @usableFromInline var newest = -1
    @usableFromInline var oldest = -1

    @inlinable
    package init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    @inlinable
    package var count: Int { places.count }

    /// The least recently used entry; nil when there is none. Reading it here does not count as a use.
    @inlinable
    package var oldestEntry: (key: Key, value: Value)? {
        guard oldest >= 0, let entry = entries[oldest] else { return nil }
        return (entry.key, entry.value)
    }

    @inlinable
    package subscript(key: Key) -> Value? {
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

    @inlinable
    package mutating func removeAll() {
        self = LRUCache(capacity: capacity)
    }

    /// Removes the entries whose values satisfy a condition.
    @inlinable
    package mutating func removeAll(where isStale: (Value) -> Bool) {
        for place in entries.indices {
            if let entry = entries[place], isStale(entry.value) { remove(place) }
        }
    }

    @inlinable
    mutating func insert(_ key: Key, _ value: Value) {
        if places.count >= capacity { remove(oldest) }
        let place: Int
        if let free = freePlaces.popLast() {
            place = free
            entries[place] = Entry(key: key, value: value)
        } else {
            place = entries.count
            entries.append(Entry(key: key, value: value))
            links.append(Link())
        }
        places[key] = place
        linkAtFront(place)
    }

    @inlinable
    mutating func remove(_ place: Int) {
        guard let entry = entries[place] else { return }
        unlink(place)
        places[entry.key] = nil
        entries[place] = nil
        freePlaces.append(place)
    }

    @inlinable
    mutating func moveToFront(_ place: Int) {
        guard place != newest else { return }
        unlink(place)
        linkAtFront(place)
    }

    @inlinable
    mutating func linkAtFront(_ place: Int) {
        links[place].newer = -1
        links[place].older = newest
        if newest >= 0 { links[newest].newer = place }
        newest = place
        if oldest < 0 { oldest = place }
    }

    @inlinable
    mutating func unlink(_ place: Int) {
        let link = links[place]
        if link.newer >= 0 { links[link.newer].older = link.older } else { newest = link.older }
        if link.older >= 0 { links[link.older].newer = link.newer } else { oldest = link.newer }
    }
}

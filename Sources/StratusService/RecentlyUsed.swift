/// A dictionary that remembers what was used lately and forgets the rest: never more than `capacity`.
///
/// Two generations: when the younger is full it becomes the older, and the older is forgotten. What is
/// found in the older moves to the younger. Each step takes constant time.
struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let generationCapacity: Int
    private var younger: [Key: Value] = [:]
    private var older: [Key: Value] = [:]

    init(capacity: Int) {
        generationCapacity = max(1, capacity / 2)
    }

    /// Entries that are remembered now.
    var count: Int { younger.count + older.count }

    subscript(key: Key) -> Value? {
        mutating get {
            if let value = younger[key] { return value }
            guard let value = older.removeValue(forKey: key) else { return nil }
            insert(value, for: key)
            return value
        }
        set {
            older[key] = nil
            if let newValue {
                insert(newValue, for: key)
            } else {
                younger[key] = nil
            }
        }
    }

    mutating func removeAll() {
        younger = [:]
        older = [:]
    }

    private mutating func insert(_ value: Value, for key: Key) {
        if younger[key] == nil, younger.count >= generationCapacity {
            older = younger
            younger = [:]
        }
        younger[key] = value
    }
}

import Foundation

// Foundation on Linux knows sort descriptors by key path alone. A key given as a string travels inside a
// key path of a type of ours, from which it can be read again.

extension NSSortDescriptor {
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \SortKeyProbe[key ?? ""], ascending: ascending)
    }

    /// The key that the descriptor was made with; nil when it was made with a key path.
    public var key: String? {
        guard let path = keyPath as? KeyPath<SortKeyProbe, String> else { return nil }
        let key = SortKeyProbe()[keyPath: path]
        return key.isEmpty ? nil : key
    }
}

/// Answers every key with itself.
public struct SortKeyProbe {
    public subscript(key: String) -> String { key }
}

import Foundation

// Foundation on Linux knows sort descriptors by key path alone. A key given as a string travels
// inside a key path of a type of ours, from which it can be read again.

extension NSSortDescriptor {
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \SortKeyProbe[key ?? ""], ascending: ascending)
    }
}

/// What can tell its key. A protocol, because the compiler of other modules cannot read a subclass
/// (`CKLocationSortDescriptor`) when `key`, which Foundation declares too, stands in the class.
public protocol SortKeyTelling {}

extension NSSortDescriptor: SortKeyTelling {}

extension SortKeyTelling where Self: NSSortDescriptor {
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

import Foundation

// Foundation on Linux has sort descriptors by key path only. A key given as a string is stored in a
// key path of a type of this module, from which it can be read again.

extension NSSortDescriptor {
    /// Makes a descriptor that sorts by a field.
    ///
    /// - Parameter key: the name of the field; a query without one fails with
    ///   `CKError.invalidArguments`.
    /// - Parameter ascending: whether the smallest value comes first.
    public convenience init(key: String?, ascending: Bool) {
        self.init(keyPath: \SortKeyProbe[key ?? ""], ascending: ascending)
    }
}

/// Classes that have a `key`. A protocol, because other modules cannot compile against a subclass
/// (`CKLocationSortDescriptor`) when `key`, which Foundation declares too, is declared in the
/// class.
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

/// A type whose subscript returns the key itself.
public struct SortKeyProbe {
    /// The key itself: a key path of the subscript contains its key.
    public subscript(key: String) -> String { key }
}

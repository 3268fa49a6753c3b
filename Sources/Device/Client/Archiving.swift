import Foundation
import StratusWire

// Foundation on Linux ends the process when an object is decoded for a key that is not in the
// archive, or when an array or dictionary is damaged. This module decodes objects only through
// these methods: they check for the key first, and store lists as JSON in one piece of data.
extension NSCoder {
    func archivedString(_ key: String) -> String? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: NSString.self, forKey: key).map { $0 as String }
    }

    func archivedDate(_ key: String) -> Date? {
        guard containsValue(forKey: key) else { return nil }
        return Date(timeIntervalSinceReferenceDate: decodeDouble(forKey: key))
    }

    func archivedData(_ key: String) -> Data? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: NSData.self, forKey: key).map { $0 as Data }
    }

    func archivedObject<Object: NSObject & NSCoding>(
        _ type: Object.Type, _ key: String
    ) -> Object? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: type, forKey: key)
    }

    /// A list of strings; nil when the key is missing or holds anything else.
    func archivedStrings(_ key: String) -> [String]? {
        archivedTree(key) as? [String]
    }

    /// A tree of arrays, strings, numbers and truth values; nil when the key is missing or damaged.
    func archivedTree(_ key: String) -> Any? {
        guard let data = archivedData(key) else { return nil }
        // Damaged JSON gives nil, as every other damage to an archive does; the caller's
        // `init(coder:)` returns nil.
        return try? JSONSerialization.jsonObject(with: data)
    }

    func archive(_ string: String?, _ key: String) {
        if let string { encode(string as NSString, forKey: key) }
    }

    func archive(_ date: Date?, _ key: String) {
        if let date { encode(date.timeIntervalSinceReferenceDate, forKey: key) }
    }

    func archive(_ object: (some NSObject & NSCoding)?, _ key: String) {
        if let object { encode(object, forKey: key) }
    }

    func archive(_ strings: [String]?, _ key: String) {
        if let strings { archive(tree: strings, key) }
    }

    /// Writes a tree of arrays, strings, numbers and truth values.
    func archive(tree: [Any], _ key: String) {
        // Such a tree can always be encoded. If it could not, its key would be missing and decoding
        // would return nil.
        if let data = try? JSONSerialization.data(withJSONObject: tree) {
            encode(data as NSData, forKey: key)
        }
    }
}

/// A value that has keys of its own in archives.
protocol ArchivedValue {
    func archive(with coder: NSCoder)

    /// Fails if the value is missing or damaged.
    init?(archivedWith coder: NSCoder)
}

/// A value of the protocol that is archived as such, under one key.
protocol ArchivedWireValue: ArchivedValue, WireReadable, WireWritable {
    static var archiveKey: String { get }
}

extension ArchivedWireValue {
    func archive(with coder: NSCoder) { coder.archive(wire: self, Self.archiveKey) }

    init?(archivedWith coder: NSCoder) {
        guard let value = coder.archived(Self.self, Self.archiveKey) else { return nil }
        self = value
    }
}

/// A class that presents a value of the protocol to apps, in whose form it is archived and usually compared.
protocol WireObjectShowing: NSObject {
    associatedtype Shown: ArchivedValue, Hashable

    /// The object in the protocol's form.
    var dictionary: Shown { get }

    init(_ dictionary: Shown)
}

extension WireObjectShowing {
    init?(archivedWith coder: NSCoder) {
        guard let dictionary = Shown(archivedWith: coder) else { return nil }
        self.init(dictionary)
    }

    /// Whether an object is of the same class, and equal in the protocol's form.
    func isSame(as object: Any?) -> Bool {
        (object as? Self).map { $0.dictionary == dictionary } ?? false
    }
}

extension NSCoder {
    /// Writes a value in the protocol's form.
    func archive(wire value: some WireWritable, _ key: String) {
        encode(Data(wireBytes(of: value)) as NSData, forKey: key)
    }

    /// Reads a value of the protocol; nil when the key is missing or its data damaged.
    func archived<Value: WireReadable>(_ type: Value.Type, _ key: String) -> Value? {
        guard let data = archivedData(key) else { return nil }
        // A damaged archive decodes as nil, as everywhere in this module.
        return try? readWire(type, from: [UInt8](data))
    }
}

import Foundation

// Foundation on Linux ends the process when an object is decoded for a key that the archive lacks,
// and when it meets a damaged array or dictionary. Every decoding of an object in this module goes
// through these methods: they ask first, and lists travel as JSON in one piece of data.
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
        // A damaged archive is told as nil, like every other one.
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
        // Such a tree can always be written; what could not would be missing at reading, and told
        // there.
        if let data = try? JSONSerialization.data(withJSONObject: tree) {
            encode(data as NSData, forKey: key)
        }
    }
}

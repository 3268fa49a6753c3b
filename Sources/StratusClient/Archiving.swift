import Foundation

// Foundation on Linux ends the process when an object is decoded for a key that the archive lacks.
// Every decoding of an object in this module goes through these methods, which ask first.
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

    /// The strings of an array; nil when the key is missing or holds anything else.
    func archivedStrings(_ key: String) -> [String]? {
        guard containsValue(forKey: key) else { return nil }
        let object = decodeObject(of: [NSArray.self, NSString.self], forKey: key)
        return (object as? NSArray).flatMap { array in
            let strings = array.compactMap { $0 as? String }
            return strings.count == array.count ? strings : nil
        }
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
        if let strings { encode(strings.map { $0 as NSString } as NSArray, forKey: key) }
    }
}

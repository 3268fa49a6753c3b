import Foundation
import Testing

/// Archives an object and decodes it.
func roundTrip<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object {
    let data = try NSKeyedArchiver.archivedData(
        withRootObject: object, requiringSecureCoding: true)
    return try #require(
        try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data))
}

/// Decodes an archive of single parts and something unrelated.
func decodeParts<Object: NSSecureCoding>(
    _ type: Object.Type, _ parts: [String: NSObject & NSSecureCoding] = [:]
) throws -> Object? {
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    for (key, part) in parts { coder.encode(part, forKey: key) }
    coder.encode("nothing" as NSString, forKey: "unrelated")
    coder.finishEncoding()
    let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
    reader.decodingFailurePolicy = .setErrorAndReturn
    return Object(coder: reader)
}

import StratusRecords

/// File names for the names of containers and owners.
///
/// Digits, lowercase letters, `.`, `-` and `_` stay; an uppercase letter becomes `^` and its lowercase one, since some
/// file systems do not distinguish them; every other byte becomes `%` and two hexadecimal digits. So no encoded name
/// leads out of its folder, is hidden, or equals that of another name.
enum FileName {
    private static let publicName = "public"

    static func of(_ tenant: DatabaseAddress.Tenant) -> String {
        switch tenant {
        case .public: publicName
        // An owner with the name of the public database's file is encoded differently; it decodes to the same name.
        case .private(owner: publicName): "%70ublic"
        case .private(let owner): encode(owner)
        }
    }

    static func tenant(_ file: String) -> DatabaseAddress.Tenant? {
        file == publicName ? .public : decode(file).map { .private(owner: $0) }
    }

    static func encode(_ name: String) -> String {
        if name.isEmpty { return "%" }
        var encoded = ""
        for (index, byte) in name.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: ".") where index == 0: encoded += "%2e"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                encoded += "^"
                encoded.unicodeScalars.append(Unicode.Scalar(byte + 0x20))
            default:
                encoded += "%" + Hexadecimal.text([byte])
            }
        }
        return encoded
    }

    /// Nil for a name that ``encode(_:)`` does not write.
    static func decode(_ encoded: String) -> String? {
        if encoded == "%" { return "" }
        var bytes: [UInt8] = []
        var rest = encoded.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "^"):
                guard let letter = rest.popFirst(), (0x61...0x7A).contains(letter) else {
                    return nil
                }
                bytes.append(letter - 0x20)
            case UInt8(ascii: "%"):
                guard let digits = String(rest.prefix(2)), digits.utf8.count == 2,
                    let value = UInt8(digits, radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

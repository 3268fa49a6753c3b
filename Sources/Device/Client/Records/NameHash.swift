import Crypto

/// The key by which the cache's file finds a record: 64 bits of its name's SHA-256.
///
/// Names such as UUIDs are long and lie in no order; an index of these bits has a third of the pages. Records of one
/// hash are distinguished by their names. It is a cryptographic one since a participant of a shared zone may choose names:
/// of a plain hash they could make any number that fall on each other.
package enum NameHash {
    package static func of(_ name: String) -> Int64 {
        var name = name
        return name.withUTF8 { bytes in
            SHA256.hash(data: UnsafeRawBufferPointer(bytes)).withUnsafeBytes {
                Int64(bigEndian: $0.loadUnaligned(as: Int64.self))
            }
        }
    }
}

import Crypto

/// The key by which the cache's file finds a record: 64 bits of its name's SHA-256.
///
/// Names such as UUIDs are long and unordered; an index of these bits has a third of the pages. Records with the same
/// hash are distinguished by their names. The hash is cryptographic because a participant of a shared zone may choose
/// names, and could create any number of collisions in a plain hash.
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

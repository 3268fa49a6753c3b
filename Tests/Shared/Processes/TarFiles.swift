import Foundation

/// The bytes are not an archive, or not a complete one.
package struct TarError: Error {
    package var message: String
}

/// The files of an archive by their paths, as tar would extract them.
package func tarFiles(_ bytes: [UInt8]) throws -> [String: Data] {
    guard bytes.count % 512 == 0 else { throw TarError(message: "It is not made of blocks.") }
    var files: [String: Data] = [:]
    var offset = 0
    func text(_ start: Int, _ count: Int) -> String {
        String(
            decoding: bytes[(offset + start)..<(offset + start + count)].prefix { $0 != 0 },
            as: UTF8.self)
    }
    while offset < bytes.count, bytes[offset] != 0 {
        guard text(257, 5) == "ustar", let size = Int(text(124, 11), radix: 8) else {
            throw TarError(message: "There is no header at \(offset).")
        }
        let (folder, name) = (text(345, 155), text(0, 100))
        let body = bytes[(offset + 512)..<(offset + 512 + size)]
        files[folder.isEmpty ? name : folder + "/" + name] = Data(body)
        offset += 512 + (size + 511) / 512 * 512
    }
    guard bytes.count - offset == 1_024 else {
        throw TarError(message: "It does not end with two empty blocks.")
    }
    return files
}

import StratusRecords

/// Writes a tar file (POSIX ustar) of plain files, from the first byte to the last.
struct TarWriter {
    private static let blockBytes = 512
    private static let nameBytes = 100
    private static let prefixBytes = 155

    let seconds: Int64
    let send: ([UInt8]) async throws -> Void
    private var restBytes = 0

    init(seconds: Int64, write: @escaping ([UInt8]) async throws -> Void) {
        self.seconds = seconds
        send = write
    }

    mutating func add(_ path: String, _ bytes: [UInt8]) async throws {
        try await begin(path, sizeBytes: Int64(bytes.count))
        try await write(bytes)
        try await end()
    }

    /// - Parameter path: Split at one of its slashes, with at most 155 bytes before it and 100 after it.
    mutating func begin(_ path: String, sizeBytes: Int64) async throws {
        let (folder, name) = try Self.halves(of: Array(path.utf8))
        var head = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { head[offset + index] = byte }
        }
        func octal(_ value: Int64, _ digits: Int) -> [UInt8] {
            let text = String(value, radix: 8)
            return Array(
                (String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8)
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(sizeBytes, 11), at: 124)
        put(octal(seconds, 11), at: 136)
        put(Array("        0".utf8), at: 148)
        put(Array("ustar\u{0}00".utf8), at: 257)
        put(folder, at: 345)
        put(octal(head.reduce(0) { $0 + Int64($1) }, 6) + [0, 0x20], at: 148)
        restBytes = Int(
            (Int64(Self.blockBytes) - sizeBytes % Int64(Self.blockBytes))
                % Int64(Self.blockBytes))
        try await send(head)
    }

    private static func halves(
        of path: [UInt8]
    ) throws -> (folder: ArraySlice<UInt8>, name: ArraySlice<UInt8>) {
        if path.count <= nameBytes { return ([], path[...]) }
        guard let slash = path.prefix(prefixBytes + 1).lastIndex(of: 0x2F),
            path.count - slash - 1 <= nameBytes
        else {
            throw ServiceError.invalid(
                "The path \(String(decoding: path, as: UTF8.self)) is too long for a tar archive.")
        }
        return (path[..<slash], path[(slash + 1)...])
    }

    mutating func write(_ bytes: [UInt8]) async throws { try await send(bytes) }

    mutating func end() async throws {
        try await send([UInt8](repeating: 0, count: restBytes))
    }

    mutating func finish() async throws {
        try await send([UInt8](repeating: 0, count: 2 * Self.blockBytes))
    }
}

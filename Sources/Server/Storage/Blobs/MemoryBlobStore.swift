import Synchronization

/// The blobs of one database in memory.
final class MemoryBlobStore: BlobStore {
    private let kept = Mutex<[BlobName: Blob]>([:])

    private struct Blob {
        var bytes: [UInt8]
        var keptMilliseconds: Int64
    }

    func begin() async throws -> any BlobWriter {
        Writer(nil, in: self, [])
    }

    private struct Left {
        var bytes: [UInt8]
        var leftMilliseconds: Int64
    }

    private let left = Mutex<[PartialBlobName: Left]>([:])

    func partial(_ name: PartialBlobName) async throws -> any PartialBlob {
        Writer(name, in: self, left.withLock { $0[name]?.bytes ?? [] })
    }

    func partialBytes(of owner: PartialBlobName) async throws -> [String: Int64] {
        left.withLock { left in
            left.filter { $0.key.owner == owner.owner }
                .reduce(into: [:]) { $0[$1.key.name] = Int64($1.value.bytes.count) }
        }
    }

    func removePartials(leftBefore milliseconds: Int64) async throws {
        left.withLock { $0 = $0.filter { $0.value.leftMilliseconds >= milliseconds } }
    }

    func open(_ name: BlobName) async throws -> (any BlobReader)? {
        kept.withLock { $0[name] }.map { Reader(bytes: $0.bytes) }
    }

    func delete(_ name: BlobName) async throws {
        kept.withLock { $0[name] = nil }
    }

    func blobs(beginningWith byte: UInt8) async throws -> [StoredBlob] {
        kept.withLock { kept in
            kept.filter { $0.key.sha256.first == byte }
                .map { StoredBlob(name: $0.key, keptMilliseconds: $0.value.keptMilliseconds) }
        }
    }

    private struct Reader: BlobReader {
        let bytes: [UInt8]

        var sizeBytes: Int64 { Int64(bytes.count) }

        func read(at offset: Int64, count: Int) async throws -> [UInt8] {
            Array(bytes.dropFirst(Int(offset)).prefix(count))
        }
    }

    /// The bytes of a blob until it is kept.
    private final class Writer: PartialBlob {
        /// Nil for a blob that is not left and continued.
        private let name: PartialBlobName?
        private let store: MemoryBlobStore
        private let bytes: Mutex<[UInt8]>

        init(_ name: PartialBlobName?, in store: MemoryBlobStore, _ bytes: [UInt8]) {
            self.name = name
            self.store = store
            self.bytes = Mutex(bytes)
        }

        var sizeBytes: Int64 { reader.sizeBytes }

        func read(at offset: Int64, count: Int) async throws -> [UInt8] {
            try await reader.read(at: offset, count: count)
        }

        func write(_ more: [UInt8]) async throws {
            bytes.withLock { $0 += more }
        }

        func leave(atMilliseconds milliseconds: Int64) async throws {
            guard let name else { return }
            let left = Left(bytes: reader.bytes, leftMilliseconds: milliseconds)
            store.left.withLock { $0[name] = left }
        }

        func keep(as blob: BlobName, atMilliseconds milliseconds: Int64) async throws {
            let kept = Blob(bytes: reader.bytes, keptMilliseconds: milliseconds)
            store.kept.withLock { $0[blob] = kept }
            await discard()
        }

        func discard() async {
            guard let name else { return }
            store.left.withLock { $0[name] = nil }
        }

        private var reader: Reader { Reader(bytes: bytes.withLock { $0 }) }
    }
}

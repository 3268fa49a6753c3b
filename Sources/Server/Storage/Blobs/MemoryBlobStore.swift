import Synchronization

/// The blobs of one database in memory.
final class MemoryBlobStore: BlobStore {
    private let kept = Mutex<[BlobName: Blob]>([:])

    private struct Blob {
        var bytes: [UInt8]
        var keptMilliseconds: Int64
    }

    func begin() async throws -> any BlobWriter {
        Writer { name, bytes, milliseconds in
            self.kept.withLock { $0[name] = Blob(bytes: bytes, keptMilliseconds: milliseconds) }
        }
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

    private final class Writer: BlobWriter {
        private let bytes = Mutex<[UInt8]>([])
        private let store: @Sendable (BlobName, [UInt8], Int64) -> Void

        init(store: @escaping @Sendable (BlobName, [UInt8], Int64) -> Void) {
            self.store = store
        }

        func write(_ more: [UInt8]) async throws {
            bytes.withLock { $0 += more }
        }

        func keep(as name: BlobName, atMilliseconds milliseconds: Int64) async throws {
            store(name, bytes.withLock { $0 }, milliseconds)
        }

        func discard() async {
            bytes.withLock { $0 = [] }
        }
    }

    private struct Reader: BlobReader {
        let bytes: [UInt8]

        var sizeBytes: Int64 { Int64(bytes.count) }

        func read(at offset: Int64, count: Int) async throws -> [UInt8] {
            Array(bytes.dropFirst(Int(offset)).prefix(count))
        }
    }
}

import Foundation
import Synchronization

/// Writes the bytes of a downloaded asset to its file, from the beginning.
final class AssetFileWriter: Sendable {
    /// `@unchecked Sendable`: reached only through the mutex of the writer.
    private struct Target: @unchecked Sendable {
        var handle: FileHandle
        var writtenBytes: Int64 = 0
    }

    private let path: String
    private let target: Mutex<Target>

    /// - Throws: `CKError.assetNotAvailable` when the disk has no room.
    init(_ url: URL) throws {
        path = url.path
        target = try Self.reportingPath(url.path) {
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: 0)
            return Mutex(Target(handle: handle))
        }
    }

    /// - Returns: the bytes written so far.
    func write(_ piece: [UInt8]) throws -> Int64 {
        try Self.reportingPath(path) {
            try target.withLock { target in
                try target.handle.write(contentsOf: piece)
                target.writtenBytes += Int64(piece.count)
                return target.writtenBytes
            }
        }
    }

    /// - Returns: the bytes written in total.
    func finish() throws -> Int64 {
        try Self.reportingPath(path) {
            try target.withLock { target in
                try target.handle.close()
                return target.writtenBytes
            }
        }
    }

    private static func reportingPath<Value: ~Copyable>(
        _ path: String, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch {
            throw CKError(
                .assetNotAvailable,
                "An asset could not be written to \(path); make room in that folder.",
                cause: error)
        }
    }
}

/// The results of concurrent tasks, by the index of the item that was requested.
final class IndexedResults<Value: Sendable>: Sendable {
    private let values = Mutex<[Int: Value]>([:])

    func set(_ value: Value, at index: Int) {
        values.withLock { $0[index] = value }
    }

    var byIndex: [Int: Value] { values.withLock { $0 } }

    /// - Throws: `CKError.internalError` when one is missing.
    func all(count: Int) throws -> [Value] {
        let values = byIndex
        return try (0..<count).map { index in
            guard let value = values[index] else {
                throw CKError(
                    .internalError, "Item \(index + 1) of \(count) has no result; try again.")
            }
            return value
        }
    }
}

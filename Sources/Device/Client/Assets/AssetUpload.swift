import Foundation

/// The bytes of an asset to upload, in pieces as they are read from the disk.
///
/// Can be read again from the beginning when the request is repeated.
public struct AssetUpload: AsyncSequence, Sendable {
    /// Bytes of one piece.
    static let pieceBytes = 256 * 1_024

    /// The size of the whole file in bytes, including those that the service already has.
    public let sizeBytes: Int64
    /// Bytes that the service already has and that are not sent again.
    private(set) var keptBytes: Int64 = 0
    private let url: URL
    private let progress: @Sendable (_ sentBytes: Int64) -> Void

    init(_ url: URL, sizeBytes: Int64, progress: @escaping @Sendable (Int64) -> Void) {
        self.url = url
        self.sizeBytes = sizeBytes
        self.progress = progress
    }

    /// The upload without the first bytes, which the service already has.
    func after(_ keptBytes: Int64) -> AssetUpload {
        var upload = self
        upload.keptBytes = keptBytes
        return upload
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(url: url, keptBytes: keptBytes, progress: progress)
    }

    /// Reads the file in pieces of at most 256 KiB, on a thread for disk access, and reports the bytes as sent.
    public struct Iterator: AsyncIteratorProtocol {
        let url: URL
        let progress: @Sendable (Int64) -> Void
        private var handle: FileHandle?
        private var sentBytes: Int64

        init(url: URL, keptBytes: Int64, progress: @escaping @Sendable (Int64) -> Void) {
            self.url = url
            sentBytes = keptBytes
            self.progress = progress
        }

        /// - Throws: the error of reading the file; `CancellationError`.
        public mutating func next() async throws -> [UInt8]? {
            try Task.checkCancellation()
            let file: FileHandle
            if let handle {
                file = handle
            } else {
                let (url, start) = (url, UInt64(sentBytes))
                file = try await DiskThread.run {
                    let file = try FileHandle(forReadingFrom: url)
                    try file.seek(toOffset: start)
                    return file
                }
                handle = file
            }
            progress(sentBytes)
            let piece = try await DiskThread.run {
                [UInt8](try file.read(upToCount: AssetUpload.pieceBytes) ?? Data())
            }
            guard !piece.isEmpty else { return nil }
            sentBytes += Int64(piece.count)
            return piece
        }
    }
}

/// The state of a file, to detect that it was changed.
struct AssetFileState: Hashable {
    var sizeBytes: Int64
    var modificationDate: Date?
    var inode: UInt64?

    /// - Throws: `CKError.assetFileNotFound`, or `assetNotAvailable` when it is not a readable
    ///   file.
    init(_ url: URL) throws {
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(
                atPath: url.resolvingSymlinksInPath().path)
        } catch {
            throw CKError(
                .assetFileNotFound,
                "The asset's file \(url.path) cannot be read. Save the record while the file is there.",
                details: [NSFilePathErrorKey: url.path], cause: error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            FileManager.default.isReadableFile(atPath: url.path)
        else {
            throw CKError(
                .assetNotAvailable,
                "The asset's file \(url.path) is not a file that this process can read; save the asset with a readable file.",
                details: [NSFilePathErrorKey: url.path])
        }
        sizeBytes = (attributes[.size] as? NSNumber)?.int64Value ?? 0
        modificationDate = attributes[.modificationDate] as? Date
        inode = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
    }
}

extension AssetFolder {
    /// The same as ``copy(_:expected:)``, on a separate thread, so that a slow disk blocks no task.
    func copied(_ url: URL, expected: AssetFileState) async throws -> AssetFile {
        try await DiskThread.run { try self.copy(url, expected: expected) }
    }

    /// Copies an app's file, so that a repeated upload sends the same bytes.
    ///
    /// - Parameter expected: the file as it was when the save began.
    /// - Throws: `CKError` with `assetFileNotFound`, `assetFileModified` or `assetNotAvailable`.
    func copy(_ url: URL, expected: AssetFileState) throws -> AssetFile {
        let copy = try makeFile()
        do {
            let source = try FileHandle(forReadingFrom: url)
            let target = try FileHandle(forWritingTo: copy.url)
            while let piece = try source.read(upToCount: AssetUpload.pieceBytes), !piece.isEmpty {
                try target.write(contentsOf: piece)
            }
            try target.close()
            guard try AssetFileState(url) == expected else {
                throw CKError(
                    .assetFileModified,
                    "The asset's file \(url.path) changed while it was saved. Save the record again.",
                    details: [NSFilePathErrorKey: url.path])
            }
        } catch {
            copy.remove()
            if let error = error as? CKError { throw error }
            throw CKError(
                .assetNotAvailable,
                "The asset's file \(url.path) could not be copied; make it readable, with space left for the copy.",
                details: [NSFilePathErrorKey: url.path], cause: error)
        }
        return copy
    }
}

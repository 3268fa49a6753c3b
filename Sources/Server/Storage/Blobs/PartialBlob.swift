import StratusRecords

/// A blob that is written by several requests. It is invisible until it is kept or discarded.
public protocol PartialBlob: BlobWriter, BlobReader {
    /// Ends the writing for now; the bytes stay.
    ///
    /// - Parameter milliseconds: When the writing ended, in milliseconds since 1970.
    func leave(atMilliseconds milliseconds: Int64) async throws
}

/// The name of a partial blob: its owner, and its own name. Both become parts of a file's name.
public struct PartialBlobName: Hashable, Sendable {
    /// Digits and letters.
    public let owner: String
    /// Digits and letters.
    public let name: String

    /// - Parameters:
    ///   - owner: Bytes that identify the user who uploads, such as a digest's.
    ///   - name: Bytes that identify the upload.
    public init(owner: [UInt8], name: [UInt8]) {
        self.owner = Hexadecimal.text(owner)
        self.name = Hexadecimal.text(name)
    }
}

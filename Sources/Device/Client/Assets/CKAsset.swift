import Foundation
import StratusRecords
import Synchronization

/// A file that belongs to a record but is stored separately.
///
/// Set it as a field's value, alone or in an array; the file is read when the record is saved. The
/// asset of a fetched record has a file of its own, created for that fetch: move or copy it at
/// once, because it is removed some time after the asset is released or the process ends. The
/// file's name is random; store the original name in a field of its own.
///
/// ```swift
/// record["photo"] = CKAsset(fileURL: photoURL)
/// try await database.save(record)
/// ```
///
/// The file may be removed once it is saved. While it exists, a save of all keys uploads it again.
///
/// Saving fails with `assetFileNotFound` when there is no file, with `assetNotAvailable` when it
/// cannot be read, and with `assetFileModified` when it changes during the save. Source: Apple's
/// page "CKAsset".
public final class CKAsset: NSObject, NSSecureCoding, Sendable {
    /// The record that holds the asset at the service. Saving the asset in this record again needs no upload.
    struct Holder: Hashable, Sendable {
        var recordName: String
        var zoneID: CKRecordZone.ID
    }

    private struct State {
        var fileURL: URL?
        /// The file of a fetched asset, released together with it.
        var fetched: AssetFile?
        /// The service's value of the asset; nil for a file of the app that was not saved.
        var stored: AssetReceipt?
        var holder: Holder?
        /// Proof of an upload that the next save sends with the value.
        var receipt: String?
        /// The copy in a store of this device, which keeps the file while the asset is in use.
        var kept: KeptAsset?
        var located: KeptAsset.File?
    }

    private let state: Mutex<State>

    private init(_ state: State) {
        self.state = Mutex(state)
    }

    /// - Parameter fileURL: a file of this device.
    public convenience init(fileURL: URL) {
        precondition(
            fileURL.isFileURL,
            "The asset's URL \(fileURL) is not a file URL; pass the URL of a file on this device."
        )
        self.init(State(fileURL: fileURL))
    }

    /// Makes an asset from an answer of the service; its bytes are downloaded later.
    ///
    /// - Parameter fileURL: the file of the app from which it was uploaded.
    convenience init(_ stored: AssetReceipt, in holder: Holder?, fileURL: URL? = nil) {
        self.init(State(fileURL: fileURL, stored: stored, holder: holder))
    }

    /// Makes an asset of the app that was not saved.
    ///
    /// - Parameter file: nil if the file is not on this device.
    convenience init(file: URL?) {
        self.init(State(fileURL: file))
    }

    /// Makes an asset that only a store of this device has.
    convenience init(onlyIn kept: KeptAsset) {
        self.init(State(kept: kept))
    }

    /// The URL of the file; nil for an asset that was not downloaded. For a record from a cache it
    /// is the cache's own file: read it, and do not move it.
    ///
    /// Implicitly unwrapped, so that code compiles that was written when it was not optional.
    public var fileURL: URL! {
        let (url, kept) = state.withLock {
            ($0.fetched?.url ?? $0.fileURL ?? $0.located?.url, $0.kept)
        }
        if let url { return url }
        // Called outside the lock, because the store reads its own file.
        guard let file = kept?.locate() else { return nil }
        state.withLock { $0.located = file }
        return file.url
    }

    /// The copy that a store of this device keeps.
    var kept: KeptAsset? {
        get { state.withLock { $0.kept } }
        set { state.withLock { $0.kept = newValue } }
    }

    /// Sends this proof of an upload with the value.
    func send(receipt: String) { state.withLock { $0.receipt = receipt } }

    /// The service's value of the asset; nil for a file of the app that was not saved.
    var stored: AssetReceipt? { state.withLock { $0.stored } }

    /// The record that holds it at the service; nil for a file of the app that was not saved.
    var holder: Holder? { state.withLock { $0.holder } }

    /// The app's file that was saved.
    var savedFileURL: URL? { state.withLock { $0.stored == nil ? nil : $0.fileURL } }

    /// The value to send when the asset is saved in the record that holds it; nil for any other
    /// record.
    func value(in holder: Holder) -> AssetReceipt? {
        state.withLock { state in
            guard let stored = state.stored, state.holder == holder else { return nil }
            var value = stored.kept
            value.receipt = state.receipt
            return value
        }
    }

    /// Whether the file is sent when the asset is saved in this record.
    ///
    /// A saved file of the app is uploaded again while it exists: it may have changed, and another
    /// device may have saved a different file since.
    func needsUpload(in holder: Holder) -> Bool {
        guard value(in: holder) != nil else { return true }
        return savedFileURL.map { FileManager.default.isReadableFile(atPath: $0.path) } ?? false
    }

    /// Notes the service's value of the app's file, which may be removed from now on.
    func keep(_ receipt: AssetReceipt, in holder: Holder) {
        state.withLock {
            $0.stored = receipt.kept
            $0.holder = holder
        }
    }

    /// Whether the bytes can be fetched and have not been.
    var isWaiting: Bool {
        state.withLock { $0.fileURL == nil && $0.fetched == nil && $0.stored?.downloadURL != nil }
    }

    /// Takes over the downloaded file.
    func adopt(_ file: AssetFile) {
        state.withLock {
            $0.fetched = file
            // The address expires soon, so an archive of the asset must not contain it.
            $0.stored?.downloadURL = nil
        }
    }

    public static var supportsSecureCoding: Bool { true }

    /// Writes the path of the file and the service's value of it. A downloaded file is not kept
    /// after its process ends: an asset decoded from an archive has none, but its record can still
    /// be saved.
    public func encode(with coder: NSCoder) {
        coder.archive(archived, "asset")
    }

    /// - Returns: nil when the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let parts = coder.archivedStrings("asset") else { return nil }
        self.init(archived: parts)
    }

    public override var description: String {
        "<CKAsset: \(fileURL?.path ?? "not downloaded")>"
    }
}

extension CKAsset: CKRecordValueProtocol {}

extension AssetReceipt {
    /// The value without the parts that only requests or only answers have.
    var kept: AssetReceipt {
        var kept = self
        kept.receipt = nil
        kept.downloadURL = nil
        return kept
    }
}

extension StoredValue {
    var isList: Bool {
        if case .object(let object) = self { object is NSArray } else { false }
    }

    var isReference: Bool {
        guard case .object(let object) = self else { return false }
        return object is CKReference || (object as? NSArray)?.firstObject is CKReference
    }

    /// The assets of a field, in their order; nil when it holds something else.
    var assets: [CKAsset]? {
        guard case .object(let object) = self else { return nil }
        if let asset = object as? CKAsset { return [asset] }
        guard let list = object as? NSArray, list.firstObject is CKAsset else { return nil }
        return list.compactMap { $0 as? CKAsset }
    }
}

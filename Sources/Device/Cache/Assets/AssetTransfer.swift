import StratusClient
import StratusRuntime

/// The progress of an upload or download of an asset's file.
public struct AssetTransfer: Hashable, Sendable {
    /// The database of the record.
    public var scope: CKDatabase.Scope
    /// The record that holds the asset.
    public var recordID: CKRecord.ID
    /// The field with the asset, or with the list that contains it.
    public var fieldKey: CKRecord.FieldKey
    /// Whether it is an upload; otherwise it is a download.
    public var isUpload: Bool
    /// The bytes transferred so far; decreases when a request is repeated, and is the whole size at the end.
    public var movedBytes: Int64
    /// The size of the file; nil if the service did not say.
    public var totalBytes: Int64?
}

/// The observers of transfers.
final class AssetTransfers: Sendable {
    private let observers = Broadcast<AssetTransfer>()

    /// Transfers from now on; the newest 100 are kept for a slow consumer.
    func observe() -> AsyncStream<AssetTransfer> {
        observers.stream(bufferingPolicy: .bufferingNewest(100))
    }

    func report(_ transfer: AssetTransfer, movedBytes: Int64) {
        var transfer = transfer
        transfer.movedBytes = movedBytes
        observers.send(transfer)
    }

    func finish() { observers.finish() }
}

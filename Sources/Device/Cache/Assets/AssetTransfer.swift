import StratusClient
import Synchronization

/// How far the file of an asset is on its way.
public struct AssetTransfer: Hashable, Sendable {
    /// The database of the record.
    public var scope: CKDatabase.Scope
    public var recordID: CKRecord.ID
    public var fieldKey: CKRecord.FieldKey
    /// Whether it goes to the service; else it comes from there.
    public var isUpload: Bool
    /// May go back when a request is repeated; the whole when it has arrived.
    public var movedBytes: Int64
    /// Nil where the service did not say.
    public var totalBytes: Int64?
}

/// Those who look at transfers.
final class AssetTransfers: Sendable {
    private struct State {
        var nextKey = 0
        var observers: [Int: AsyncStream<AssetTransfer>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// The newest of each hundred, while nobody looks.
    func observe() -> AsyncStream<AssetTransfer> {
        let (transfers, continuation) = AsyncStream.makeStream(
            of: AssetTransfer.self, bufferingPolicy: .bufferingNewest(100))
        let key = state.withLock { state in
            state.nextKey += 1
            state.observers[state.nextKey] = continuation
            return state.nextKey
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.observers.removeValue(forKey: key) }
        }
        return transfers
    }

    func tell(_ transfer: AssetTransfer, movedBytes: Int64) {
        var transfer = transfer
        transfer.movedBytes = movedBytes
        for observer in state.withLock({ Array($0.observers.values) }) { observer.yield(transfer) }
    }

    func finish() {
        let observers = state.withLock { state in
            defer { state.observers = [:] }
            return state.observers
        }
        for observer in observers.values { observer.finish() }
    }
}

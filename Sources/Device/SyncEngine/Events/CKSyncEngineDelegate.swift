import StratusClient
import StratusSync

/// The app's side of a sync engine: handles events, and returns the records to send.
///
/// The engine calls one method at a time and waits until it returns. Do not call
/// ``CKSyncEngine/fetchChanges(_:)`` or ``CKSyncEngine/sendChanges(_:)`` from inside one and wait
/// for the result: this would deadlock, and the engine ends the process with a message. (In a child
/// task it cannot detect this, and such a call waits forever.)
///
/// ```swift
/// final class Trails: CKSyncEngineDelegate {
///     func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
///         if case .stateUpdate(let update) = event { await store.keep(update.stateSerialization) }
///     }
///
///     func nextRecordZoneChangeBatch(
///         _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
///     ) async -> CKSyncEngine.RecordZoneChangeBatch? {
///         await CKSyncEngine.RecordZoneChangeBatch(
///             pendingChanges: syncEngine.state.pendingRecordZoneChanges
///         ) { recordID in await store.record(for: recordID) }
///     }
/// }
/// ```
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event. The next event follows after this method returns.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Returns the next records to send: at most 250 items, within the context's scope.
    ///
    /// - Returns: nil when there is nothing to send now.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Returns what to fetch, before each request. By default the options of the context.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

import StratusClient
import StratusSync

/// The app's side of a sync engine: hears what happened, and gives the records to send.
///
/// The engine calls one method at a time and waits until it returns. Do not call
/// ``CKSyncEngine/fetchChanges(_:)`` or ``CKSyncEngine/sendChanges(_:)`` from inside one and wait for
/// the answer: it could never come, and the engine stops the process with a sentence. (In a child
/// task it cannot see that somebody waits; such a call waits for ever.)
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Tells what happened. The next event comes after this one was handled.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Asks for the next records to send: 250 items at the most, of the context's scope.
    ///
    /// - Returns: nil when there is nothing to send now.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Asks before each request what to fetch. By default what the context says.
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

/// A device without room.
extension SyncSession {
    /// The device could not write down what came of the operation, as it has no room: the same is done
    /// again after a pause, for as long as it takes.
    public mutating func storageFailed(_ failure: SyncFailure, at uptimeSeconds: Double) {
        if operation == .fetchDatabaseChanges { needsDatabaseFetch = true }
        penalise(
            failure, isCounted: false, at: uptimeSeconds,
            ceilingSeconds: settings.maximumOfflineDelaySeconds)
    }
}

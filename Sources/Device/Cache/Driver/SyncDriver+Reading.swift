import StratusRecords
import StratusSync

/// Reads the file's state for the session, again after a pause if the file cannot be read now.
extension SyncDriver {
    /// The shortest pause before the file is read again, in seconds.
    private static let readingPauseSeconds: Double = 1

    /// Reads what the app or another process may have changed.
    func readState() throws {
        try store.readHeldZones()
        session.setEnabled(try store.backlog().isEnabled, at: now)
        // Reads the zones that could not be read before. They stay in the inbox, because the app may have changed them
        // since.
        for zone in inbox.withLock({ $0.zones }) { try updateState(of: zone) }
        try absorbBacklog()
    }

    func updateState(of zone: ZoneID) throws {
        switch try store.state(of: zone) {
        case .unwanted: session.zoneUnwanted(zone)
        case .replaced:
            session.zoneUnwanted(zone)
            session.zoneWanted(zone)
        case .wanted: session.zoneWanted(zone)
        case .existing:
            session.zoneKept(zone)
            if try store.needsFetch(zone) { session.zonesChanged([zone]) }
        case .refused, .detached, nil: session.zoneKept(zone)
        }
    }

    /// Handles an error of reading the file outside an operation: if it will pass, the file is read
    /// again before the next operation; otherwise the session halts.
    ///
    /// - Returns: whether the file is read again.
    @discardableResult
    func readLater(after error: any Error) -> Bool {
        guard CacheError.passing(error) != nil else {
            let reason = HaltReason.localStorage("\(error)")
            // Reported once, although each write of another process may find the error again.
            if session.halt != reason { haltSession(reason) }
            return false
        }
        needsReading = true
        return true
    }

    /// Reads the file's state if that is due. If the file still cannot be read, waits for a while.
    ///
    /// - Returns: whether the session has the file's state, or is halted.
    func hasRead() async -> Bool {
        guard needsReading, session.halt == nil else { return true }
        do {
            try readState()
            needsReading = false
            return true
        } catch {
            guard let error = CacheError.passing(error) else {
                readLater(after: error)
                return true
            }
            session.storageFailed(
                SyncFailure(.internalError, message: error.description), at: now)
            observers.wakeStatusReaders()
            giveUpWaiting(error)
            await wait(until: now + max(session.delaySeconds, Self.readingPauseSeconds))
            return false
        }
    }
}

import StratusRecords

@testable import StratusSync

extension ZoneID {
    static let list = ZoneID(name: "List")
    static let other = ZoneID(name: "Other")
}

extension SyncSession {
    /// A session that has its zones and its subscription, and fetches first.
    static func prepared(
        settings: SyncSettings = SyncSettings(), hasPendingChanges: Bool = false,
        zonesToFetch: [ZoneID] = []
    ) -> SyncSession {
        SyncSession(
            settings: settings,
            backlog: SyncBacklog(
                zonesToFetch: zonesToFetch, isSubscriptionSaved: true,
                hasPendingChanges: hasPendingChanges))
    }

    /// A session that has fetched and has something to send.
    static func sending(settings: SyncSettings = SyncSettings()) -> SyncSession {
        var session = prepared(settings: settings, hasPendingChanges: true)
        session.needsDatabaseFetch = false
        return session
    }

    /// A session that only has this zone to fetch.
    static func fetching(_ zone: ZoneID) -> SyncSession {
        var session = prepared(zonesToFetch: [zone])
        session.needsDatabaseFetch = false
        return session
    }

    /// Advances the time until an operation begins; nil when the session rests or halts.
    mutating func perform(_ now: inout Double) -> SyncOperation? {
        for _ in 0..<10 {
            switch next(at: now) {
            case .perform(let operation): return operation
            case .wait(let time): now = time
            case .rest, .halted: return nil
            }
        }
        return nil
    }

    /// The disposition of a new session on one outcome.
    static func disposition(on outcome: ItemOutcome) -> ItemDisposition? {
        var session = sending()
        var now = 0.0
        _ = session.perform(&now)
        return session.sent([outcome], at: now).first
    }
}

extension ItemOutcome {
    static func saved(_ name: String) -> ItemOutcome {
        ItemOutcome(PendingChange(id: RecordID(name: name, zoneID: .list), kind: .save))
    }

    static func failedSave(_ name: String = "a", _ failure: SyncFailure) -> ItemOutcome {
        ItemOutcome(
            PendingChange(id: RecordID(name: name, zoneID: .list), kind: .save), failure: failure)
    }

    static func failedDelete(_ failure: SyncFailure) -> ItemOutcome {
        ItemOutcome(
            PendingChange(id: RecordID(name: "a", zoneID: .list), kind: .delete), failure: failure)
    }
}

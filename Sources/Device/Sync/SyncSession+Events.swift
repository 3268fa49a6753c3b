import StratusRecords

/// What happens outside a session.
extension SyncSession {
    /// A local change was written to the queue. Waits a little for further ones.
    public mutating func localChange(at uptimeSeconds: Double) {
        let wasPending = hasPendingChanges
        hasPendingChanges = true
        if !wasPending {
            sendNotBeforeUptimeSeconds = max(
                sendNotBeforeUptimeSeconds, uptimeSeconds + settings.coalescingSeconds)
        }
    }

    /// A zone shall exist; asked for once, remembered by the shell when it does.
    public mutating func zoneWanted(_ zone: ZoneID) {
        guard !zone.isDefault, !zonesToCreate.contains(zone) else { return }
        guard !zonesToDelete.contains(zone) else {
            zonesToReplace.insert(zone)
            return
        }
        zonesToCreate.append(zone)
    }

    /// A zone shall not exist any more.
    public mutating func zoneUnwanted(_ zone: ZoneID) {
        forget(zone)
        zonesToReplace.remove(zone)
        if !zone.isDefault, !zonesToDelete.contains(zone) { zonesToDelete.append(zone) }
    }

    /// The service hinted that something changed, and perhaps in which zone.
    public mutating func notified(of zone: ZoneID? = nil) {
        guard let zone, !zone.isDefault, settings.zones.contains(zone) else {
            needsDatabaseFetch = true
            return
        }
        if operation == .fetchZoneChanges(zone) { zonesToFetchAgain.insert(zone) }
        zonesGivenUp.remove(zone)
        if !zonesToFetch.contains(zone) { zonesToFetch.append(zone) }
    }

    /// The service tells of changes from now on; what came before may have been missed.
    public mutating func channelOpened() {
        isListening = true
        needsDatabaseFetch = true
    }

    /// The service tells of nothing any more: changes are asked for again from time to time.
    public mutating func channelClosed(at uptimeSeconds: Double) {
        guard isListening else { return }
        isListening = false
        planFetch(after: uptimeSeconds)
    }

    /// Plans the next fetch that nobody asks for; while the service tells of changes, the one that comes
    /// with saving the subscription again.
    mutating func planFetch(after uptimeSeconds: Double) {
        let hearsOfChanges = isListening && settings.savesSubscription && !needsSubscription
        let saved = subscriptionUptimeSeconds ?? uptimeSeconds
        subscriptionUptimeSeconds = saved
        let next = settings.fetchIntervalSeconds.map { uptimeSeconds + $0 }
        guard hearsOfChanges else {
            nextFetchUptimeSeconds = next
            return
        }
        nextFetchUptimeSeconds =
            settings.failurePolicy == .report
            ? nil : next.map { max(saved + settings.subscriptionIntervalSeconds, $0) }
    }

    /// The time for a fetch has come that nobody asked for.
    mutating func fetchIsDue(at uptimeSeconds: Double) {
        nextFetchUptimeSeconds = nil
        needsDatabaseFetch = true
        guard settings.savesSubscription, settings.failurePolicy == .heal,
            let saved = subscriptionUptimeSeconds,
            uptimeSeconds >= saved + settings.subscriptionIntervalSeconds
        else { return }
        // Whoever deleted it told nobody; saving it once more changes nothing.
        needsSubscription = true
    }

    /// These zones are known to have changed, as the shell wrote down.
    public mutating func zonesChanged(_ zones: [ZoneID]) {
        for zone in zones
        where settings.zones.contains(zone) && !zone.isDefault && !zonesToFetch.contains(zone)
            && !zonesInDoubt.contains(zone) && !zonesToDelete.contains(zone)
        {
            zonesToFetch.append(zone)
        }
    }

    /// The zone to fetch is not known on this device: the database's changes tell of it, if it is.
    public mutating func zoneIsUnknown(_ zone: ZoneID) {
        forget(zone)
        needsDatabaseFetch = true
        operation = nil
    }

    /// The app asked for this activity by hand: an earlier failure delays nothing.
    public mutating func begin(_ activity: SyncActivity, at uptimeSeconds: Double) {
        halt = nil
        retryCount = 0
        pacer.reset(at: uptimeSeconds, isObedient: false)
        switch activity {
        case .fetching:
            needsDatabaseFetch = true
            isFetchingRound = false
            zonesGivenUp = []
        case .sending: sendNotBeforeUptimeSeconds = 0
        }
    }

    /// These zones, and no others, are to be created and deleted.
    public mutating func setZonesToModify(create: [ZoneID], delete: [ZoneID]) {
        zonesToCreate = create
        zonesToDelete = delete
        zonesToReplace = []
    }

    /// A person asked to sync now: nothing waits for further changes, everything is fetched.
    public mutating func syncNow(at uptimeSeconds: Double) {
        needsDatabaseFetch = true
        sendNotBeforeUptimeSeconds = 0
        isQuotaExceeded = false
        if !quotaRetries.isEmpty { hasPendingChanges = true }
        quotaRetries = [:]
        if !isNetworkReachable { pacer.reset(at: uptimeSeconds) }
    }

    /// Starts again after a halt, at the start of the app or when it comes to the foreground.
    public mutating func restart(at uptimeSeconds: Double) {
        halt = nil
        retryCount = 0
        pacer.reset(at: uptimeSeconds)
        syncNow(at: uptimeSeconds)
    }

    /// The account came, went or changed. Ends a halt whose cause was the account.
    public mutating func accountChanged(at uptimeSeconds: Double) {
        switch halt {
        case .account, .otherAccount: restart(at: uptimeSeconds)
        default: break
        }
        needsDatabaseFetch = true
    }

    /// The network came back: what waited for it goes on at once.
    public mutating func networkBecameReachable(at uptimeSeconds: Double) {
        guard !isNetworkReachable else { return }
        isNetworkReachable = true
        pacer.reset(at: uptimeSeconds)
        needsDatabaseFetch = true
    }

    /// Turns syncing on or off; the queue is kept and grows meanwhile.
    public mutating func setEnabled(_ isEnabled: Bool, at uptimeSeconds: Double) {
        guard isEnabled != self.isEnabled else { return }
        self.isEnabled = isEnabled
        if isEnabled { restart(at: uptimeSeconds) }
    }

    /// Halts for a reason that the shell or the app found.
    public mutating func halt(_ reason: HaltReason) {
        operation = nil
        halt = reason
    }

    /// A zone that was to be deleted is gone; it is made again if somebody wants it.
    mutating func deletionDone(of zone: ZoneID) {
        zonesToDelete.removeAll { $0 == zone }
        if zonesToReplace.remove(zone) != nil { zoneWanted(zone) }
    }

    /// Forgets all work on a zone that is no more.
    mutating func forget(_ zone: ZoneID) {
        zonesToCreate.removeAll { $0 == zone }
        zonesToFetch.removeAll { $0 == zone }
        zonesToFetchAgain.remove(zone)
        zonesInDoubt.removeAll { $0 == zone }
    }
}

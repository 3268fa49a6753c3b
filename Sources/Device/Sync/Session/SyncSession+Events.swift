import StratusRecords

/// Events from outside a session.
extension SyncSession {
    /// Notes that a local change was queued. Waits briefly for further ones.
    public mutating func localChange(at uptimeSeconds: Double) {
        let wasPending = hasPendingChanges
        hasPendingChanges = true
        if !wasPending {
            sendNotBeforeUptimeSeconds = max(
                sendNotBeforeUptimeSeconds, uptimeSeconds + settings.coalescingSeconds)
        }
    }

    /// Adds a zone to create; it is requested once, and stored by the driver when it exists.
    public mutating func zoneWanted(_ zone: ZoneID) {
        guard !zone.isDefault, !zonesToCreate.contains(zone) else { return }
        guard !zonesToDelete.contains(zone) else {
            zonesToReplace.insert(zone)
            return
        }
        zonesToCreate.append(zone)
    }

    /// Adds a zone to delete.
    public mutating func zoneUnwanted(_ zone: ZoneID) {
        forget(zone)
        zonesToReplace.remove(zone)
        if !zone.isDefault, !zonesToDelete.contains(zone) { zonesToDelete.append(zone) }
    }

    /// Notes that a zone is not to be created any more.
    package mutating func zoneNotWanted(_ zone: ZoneID) {
        zonesToCreate.removeAll { $0 == zone }
    }

    /// Notes that a zone is not to be deleted after all; its state is unchanged.
    package mutating func zoneKept(_ zone: ZoneID) {
        zonesToDelete.removeAll { $0 == zone }
        zonesToReplace.remove(zone)
    }

    /// Notes a hint of the service that something changed, and perhaps in which zone.
    public mutating func notified(of zone: ZoneID? = nil) {
        guard let zone, !zone.isDefault, settings.zones.contains(zone) else {
            needsDatabaseFetch = true
            return
        }
        if operation == .fetchZoneChanges(zone) { zonesToFetchAgain.insert(zone) }
        zonesGivenUp.remove(zone)
        if !zonesToFetch.contains(zone) { zonesToFetch.append(zone) }
    }

    /// Notes that changes are reported from now on; earlier ones may have been missed.
    public mutating func channelOpened() {
        isListening = true
        needsDatabaseFetch = true
    }

    /// Notes that changes are no longer reported: they are fetched at intervals again.
    public mutating func channelClosed(at uptimeSeconds: Double) {
        guard isListening else { return }
        isListening = false
        planFetch(after: uptimeSeconds)
    }

    /// Whether the service sends notifications of changes, so that no fetches at intervals are needed.
    private var hearsOfChanges: Bool {
        isListening && settings.savesSubscription && !needsSubscription
    }

    /// Plans the next regular fetch; while a listener is open, the next check of the subscription.
    mutating func planFetch(after uptimeSeconds: Double) {
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

    /// Begins a planned fetch, or a check of the subscription.
    mutating func fetchIsDue(at uptimeSeconds: Double) {
        nextFetchUptimeSeconds = nil
        if !hearsOfChanges { needsDatabaseFetch = true }
        guard settings.savesSubscription, settings.failurePolicy == .recover,
            let saved = subscriptionUptimeSeconds,
            uptimeSeconds >= saved + settings.subscriptionIntervalSeconds
        else { return }
        // The subscription may have been deleted without notice.
        needsSubscription = true
    }

    /// Notes zones that changed, as stored by the driver.
    public mutating func zonesChanged(_ zones: [ZoneID]) {
        for zone in zones
        where settings.zones.contains(zone) && !zone.isDefault && !zonesToFetch.contains(zone)
            && !unconfirmedZones.contains(zone) && !zonesToDelete.contains(zone)
        {
            zonesToFetch.append(zone)
        }
    }

    /// Notes that another process may have synced the database since the last operation: zones that were missing then are
    /// fetched, which shows whether they still are.
    package mutating func othersMayHaveSynced() {
        let missing = unconfirmedZones
        unconfirmedZones = []
        zonesChanged(missing)
    }

    /// Notes that the zone to fetch is unknown on this device: if it exists, the database's changes
    /// name it.
    public mutating func zoneIsUnknown(_ zone: ZoneID) {
        forget(zone)
        needsDatabaseFetch = true
        operation = nil
    }

    /// Begins an activity that the app requested: an earlier failure does not delay it.
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

    /// Sets the zones to create and delete, replacing the former ones.
    public mutating func setZonesToModify(create: [ZoneID], delete: [ZoneID]) {
        zonesToCreate = create
        zonesToDelete = delete
        zonesToReplace = []
    }

    /// Starts a sync that a person requested: without waiting for further changes, and with a fetch
    /// of everything.
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

    /// Notes that the account was signed in, signed out or replaced. Ends a halt that the account
    /// caused.
    public mutating func accountChanged(at uptimeSeconds: Double) {
        switch halt {
        case .account, .otherAccount: restart(at: uptimeSeconds)
        default: break
        }
        needsDatabaseFetch = true
    }

    /// Notes that the network is back, or another one: operations that waited for it continue at
    /// once. Changes are fetched, because notifications may have been sent into the former network.
    public mutating func networkBecameReachable(at uptimeSeconds: Double) {
        needsDatabaseFetch = true
        guard !isNetworkReachable else { return }
        isNetworkReachable = true
        pacer.reset(at: uptimeSeconds)
    }

    /// Turns syncing on or off; while it is off the queue is kept, and can grow.
    public mutating func setEnabled(_ isEnabled: Bool, at uptimeSeconds: Double) {
        guard isEnabled != self.isEnabled else { return }
        self.isEnabled = isEnabled
        if isEnabled { restart(at: uptimeSeconds) }
    }

    /// Halts for a reason of the driver or the app.
    public mutating func halt(_ reason: HaltReason) {
        operation = nil
        halt = reason
    }

    /// Notes that a zone was deleted; it is created again if it is wanted.
    mutating func deletionDone(of zone: ZoneID) {
        zonesToDelete.removeAll { $0 == zone }
        if zonesToReplace.remove(zone) != nil { zoneWanted(zone) }
    }

    /// Has all other zones fetched before one that the service could not serve.
    mutating func postpone(_ zone: ZoneID) {
        guard let index = zonesToFetch.firstIndex(of: zone) else { return }
        zonesToFetch.append(zonesToFetch.remove(at: index))
    }

    /// Removes all work on a zone that no longer exists.
    mutating func forget(_ zone: ZoneID) {
        zonesToCreate.removeAll { $0 == zone }
        zonesToFetch.removeAll { $0 == zone }
        zonesToFetchAgain.remove(zone)
        unconfirmedZones.removeAll { $0 == zone }
    }
}

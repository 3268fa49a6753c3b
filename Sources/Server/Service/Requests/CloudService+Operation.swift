import StratusRecords
import StratusStorage

/// What an operator does to databases.
extension CloudService {
    /// Deletes a user's zone with its records, and tells the user's devices why.
    ///
    /// The devices learn it from `changes/database`, whose `deletionReason` says `purged` or
    /// `encryptedDataReset`. Until somebody creates the zone again, saving into a purged one fails as
    /// `userDeletedZone`.
    ///
    /// - Parameters:
    ///   - name: a custom zone of the user's private database.
    ///   - user: the user record name.
    /// - Returns: whether there was such a zone.
    /// - Throws: ``RequestFailure`` for the default zone, and when the store is not available.
    @discardableResult
    public func removeZone(
        named name: String, of user: String, at address: ContainerAddress,
        reason: ZoneRow.Deletion
    ) async throws -> Bool {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted.")
        }
        let store = try await store(for: DatabaseAddress(address, .private(owner: user)))
        let summary = try await subscriptions.summary(of: store)
        let isRemoved = try await store.write { writer in
            guard let zone = try writer.livingZone(named: name) else { return false }
            if let news = try ShareNews(endOf: zone, user: user, device: "", writer) {
                try writer.enqueue(news.bytes)
            }
            try writer.deleteZone(zone.key, reason: reason)
            if summary.wantsNews {
                // Nobody's device made the change: all are told.
                let news = News(
                    zoneName: name, user: user, device: "", changes: [], subject: .zoneDeleted)
                try writer.enqueue(news.bytes)
            }
            return true
        }
        notifications.tell(store)
        return isRemoved
    }

    /// Starts a new history in every database, to be called after a backup was put back: what devices
    /// saw since cannot be told apart from what is saved from now on. All change tokens expire, and
    /// every device fetches in full once.
    ///
    /// - Returns: how many databases there are.
    public func renewIncarnations() async throws -> Int {
        let addresses = try await storehouse.databases()
        for address in addresses {
            let store = try await storehouse.store(for: address)
            let identifier = settings.randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) }
            try await store.write { writer in
                let old = try writer.incarnation
                try writer.renewIncarnation(
                    Incarnation(number: old.number + 1, identifier: identifier))
            }
        }
        return addresses.count
    }

    /// Purges tombstones of all databases whatever part of the rows they are.
    ///
    /// - Parameter ageSeconds: how old they must be. Devices that were away for longer fetch in full.
    /// - Returns: how many went.
    public func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        var purged = 0
        for address in try await storehouse.databases() {
            purged += try await tombstones.purge(
                try await storehouse.store(for: address), settings.nowMilliseconds(), share: 0,
                ageSeconds: ageSeconds)
        }
        return purged
    }
}

import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// Sharing records and zones with other people.
///
/// ``stopSharing(_:)`` and ``leaveShare(inZoneWith:)`` work offline and wait in the queue.
/// Creating, changing and joining a share need the service; without it they throw ``CacheError``
/// `notSynced` and change nothing. ``record(for:in:)`` reads a share with its participants offline.
///
/// ```swift
/// let share = try await cache.share(listID)
/// try await cache.invite(emailAddresses: ["bo@example.org"], to: share.recordID, permission: .readWrite)
/// try await cache.stopSharing(share.recordID)
/// ```
extension CloudCache {
    /// Shares a record with its children, or returns the share that it already has.
    ///
    /// Pending changes are sent first.
    ///
    /// - Throws: ``CacheError`` `notSynced` without the service, `invalidZone` if the record is not at the service;
    ///   ``sync()``'s errors.
    public func share(_ rootID: CKRecord.ID) async throws -> CKShare {
        try await sync()
        let share = try await atService(.private) { database in
            let root = try await database.record(for: rootID)
            if let known = root.share {
                return try await Self.share(known.recordID, in: database)
            }
            let shareID = CKRecord.ID(
                recordName: world.makeUUID().uuidString, zoneID: root.recordID.zoneID)
            let share = CKShare(rootRecord: root, shareID: shareID)
            return try await Self.save(share, with: root, in: database)
        }
        try await sync()
        return share
    }

    /// Shares a whole zone, or returns the share that it already has; see ``share(_:)``.
    public func shareZone(_ id: CKRecordZone.ID) async throws -> CKShare {
        try await sync()
        let shareID = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: id)
        let share = try await atService(.private) { database in
            do {
                return try await Self.share(shareID, in: database)
            } catch let error as CKError where error.code == .unknownItem {
                // The zone has no share yet.
                return try await Self.save(CKShare(recordZoneID: id), with: nil, in: database)
            }
        }
        try await sync()
        return share
    }

    /// Invites people by their e-mail addresses.
    ///
    /// - Returns: the share; its `url` is what to send them.
    /// - Throws: as ``changeShare(_:in:_:)``.
    @discardableResult
    public func invite(
        emailAddresses: [String], to shareID: CKRecord.ID,
        permission: CKShare.ParticipantPermission = .readOnly,
        in scope: CKDatabase.Scope = .private
    ) async throws -> CKShare {
        let people = try await atService(scope) { database in
            let results = try await database.container.shareParticipants(
                forEmailAddresses: emailAddresses)
            return try emailAddresses.compactMap { try results[$0]?.get() }
        }
        for person in people { person.permission = permission }
        return try await changeShare(shareID, in: scope) { share in
            for person in people { share.addParticipant(person) }
        }
    }

    /// Changes the service's version of a share: its participants, their permissions, its title.
    ///
    /// - Parameters:
    ///   - shareID: the share.
    ///   - scope: the database of the share.
    ///   - change: called with the service's share, and again if it was changed on the service
    ///     meanwhile.
    /// - Throws: ``CacheError`` `notSynced` without the service, or what it refused, with ``CacheError/failure``; what
    ///   the body throws.
    @discardableResult
    public func changeShare(
        _ shareID: CKRecord.ID, in scope: CKDatabase.Scope = .private,
        _ change: @Sendable (CKShare) throws -> Void
    ) async throws -> CKShare {
        let share = try await atService(scope) { database in
            for _ in 0..<4 {
                let share = try await Self.share(shareID, in: database)
                try change(share)
                do {
                    return try await Self.save(share, with: nil, in: database)
                } catch let error as CKError where error.code == .serverRecordChanged {
                    // Repeat with the newer share.
                    continue
                }
            }
            throw SyncFailure(
                .serverRecordChanged,
                message:
                    "Others changed the share \(shareID.recordName) at each attempt; try again.")
        }
        try await sync()
        return share
    }

    /// Replaces a share that the service lost: shares the same record or zone, with the same title and other fields,
    /// public permission and people. The link is a new one: send it to the people, who must accept it.
    ///
    /// If another device has shared it again, that share gets what it lacks; calling it again changes nothing. Ask the
    /// user first: on another device they may have ended the share since.
    ///
    /// ```swift
    /// for report in try await cache.reports() {
    ///     if case .sharesLost(let shares) = report.event {
    ///         for share in shares where wantsToShareAgain(share) {
    ///             send(try await cache.shareAgain(share).url)
    ///         }
    ///         try await cache.acknowledge([report])
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter lost: the share of a report; see ``CacheEvent/sharesLost(_:)``.
    /// - Throws: as ``share(_:)`` and ``changeShare(_:in:_:)``: `invalidZone` if the shared record is gone;
    ///   ``CacheError`` `nothingToRestore` if the share does not name its record, because the cache or the service was of
    ///   an earlier version when the share was fetched.
    @discardableResult
    public func shareAgain(_ lost: CKShare) async throws -> CKShare {
        let share: CKShare
        if lost.recordID.recordName == CKRecordNameZoneWideShare {
            share = try await shareZone(lost.recordID.zoneID)
        } else if let rootID = lost.rootRecordID {
            share = try await self.share(rootID)
        } else {
            throw CacheError(
                .nothingToRestore,
                "The record of the lost share is not known: an older version of this app stored the share. Call"
                    + " share(_:) with the record, and invite the people again.")
        }
        return try await changeShare(share.recordID) { share in
            for key in lost.allKeys() where share[key] == nil {
                share[key] = lost[key] as (any CKRecordValue)?
            }
            guard lost.publicPermission == .none else {
                // People join such a share by its link.
                share.publicPermission = lost.publicPermission
                return
            }
            let people = share.participants
            for person in lost.participants where person.role != .owner && !people.contains(person)
            {
                share.addParticipant(person)
            }
        }
    }

    /// Joins a share; its zone is here when this returns.
    ///
    /// - Parameter url: the link of an invitation.
    /// - Returns: the zone, in the shared database.
    /// - Throws: ``CacheError`` `notSynced` without the service, or what it refused, with ``CacheError/failure``;
    ///   `invalidDatabase` if this cache does not keep the shared database.
    @discardableResult
    public func acceptShare(at url: URL) async throws -> CKRecordZone.ID {
        let zone = ZoneID(try await accept(url))
        // The user may have left the share, and the service may not know it yet.
        let database = try database(.shared)
        let wasLeaving = try await file.disk.write { try database.store.rejoin(zone) }
        database.notifyDriver(ofZones: [zone], hasChanges: true)
        try await sync()
        if wasLeaving,
            try await file.disk.read({ try database.store.state(of: zone) }) == nil
        {
            // The request to leave the zone was already on its way to the service.
            _ = try await accept(url)
            try await sync()
        }
        return CKRecordZone.ID(zone)
    }

    private func accept(_ url: URL) async throws -> CKRecordZone.ID {
        try await atService(.shared) { database in
            let container = database.container
            return try await container.accept(try await container.shareMetadata(for: url))
                .recordID.zoneID
        }
    }

    /// Leaves a share: its zone is removed, here at once and at the service with the next sync. Works offline.
    ///
    /// - Throws: ``CacheError`` `invalidDatabase`, or SQLite's error.
    public func leaveShare(inZoneWith id: CKRecordZone.ID) throws {
        try deleteZone(id, in: .shared)
    }

    /// Ends a share for everyone: it is deleted, here at once and at the service with the next
    /// sync. The records stay with their owner. Works offline.
    ///
    /// - Throws: SQLite's error.
    public func stopSharing(_ shareID: CKRecord.ID) throws {
        try delete(shareID)
    }

    // MARK: At the service

    private static func share(
        _ id: CKRecord.ID, in database: CKDatabase
    ) async throws -> CKShare {
        guard let share = try await database.record(for: id) as? CKShare else {
            throw SyncFailure(
                .unknownItem,
                message: "The record \(id.recordName) is not a share; pass a share's ID.")
        }
        return share
    }

    private static func save(
        _ share: CKShare, with root: CKRecord?, in database: CKDatabase
    ) async throws -> CKShare {
        let results = try await database.modifyRecords(
            saving: [root, share].compactMap(\.self), deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        return share
    }

    private func atService<Value: Sendable>(
        _ scope: CKDatabase.Scope, _ body: (CKDatabase) async throws -> Value
    ) async throws -> Value {
        let database = try database(scope)
        let remote = database.driver.remote
        guard let cloud = remote.cloudDatabase else { throw CacheError.withoutContainer }
        do {
            guard try database.store.isOpen(to: try await remote.userRecordName()) else {
                throw CacheError.otherUser(ofFileAt: file.path)
            }
            return try await body(cloud)
        } catch let error as CacheError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch let failure as SyncFailure {
            throw CacheError(.notSynced, Self.needsService, failure: failure)
        } catch let error as CKError {
            throw CacheError(.notSynced, Self.needsService, failure: SyncFailure(error))
        }
    }

    private static let needsService =
        """
        Sharing needs the service, which refused the request or did not answer. Check the share's current state, then \
        try again.
        """
}

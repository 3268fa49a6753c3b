import Foundation
import StratusCache
import StratusClient

/// What users do with notebooks, which they share with other users during the world.
extension SimulationRun {
    /// How often a device asks the service to create or join a share.
    private static let attempts = 3

    private static func zone(_ notebook: Int, owner: String = CKCurrentUserDefaultName)
        -> CKRecordZone.ID
    {
        CKRecordZone.ID(zoneName: Plan.zone(ofNotebook: notebook), ownerName: owner)
    }

    /// A record of a notebook as a device's user sees it; nil if the notebook was not created.
    private func place(
        _ name: String, ofNotebook notebook: Int, on device: SimulatedDevice
    ) -> (id: CKRecord.ID, scope: CKDatabase.Scope)? {
        guard let owner = notebooks[notebook].owner else { return nil }
        let isOwn = owner == device.user
        let zone = Self.zone(
            notebook, owner: isOwn ? CKCurrentUserDefaultName : userRecordNames[owner])
        return (
            id: CKRecord.ID(recordName: name, zoneID: zone), scope: isOwn ? .private : .shared
        )
    }

    /// Creates the records of a notebook in one transaction.
    func makeNotebook(_ number: Int, _ notebook: Int) throws {
        let device = devices[number]
        guard notebooks[notebook].owner == nil else { return }
        let zone = Self.zone(notebook)
        let rootID = CKRecord.ID(recordName: Notebooks.root, zoneID: zone)
        let records = Notebooks.names.map { name in
            let record = CKRecord(
                recordType: Notebooks.type,
                recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["title"] = name
            if Notebooks.pages.contains(name) { record.setParent(rootID) }
            return record
        }
        do {
            try device.opened().save(records, in: .private)
        } catch {
            // The disk was full or the process ended; the file says which.
        }
        let cache = try device.opened()
        let saved = try records.filter { try cache.record(for: $0.recordID, in: .private) != nil }
        if saved.count == records.count {
            let user = device.user
            notebooks.change(notebook) { $0.owner = user }
        } else if !saved.isEmpty {
            violations.append(
                "\(device.name): of the \(records.count) records of \(zone.zoneName), \(saved.count)"
                    + " are saved")
        }
    }

    /// Shares a notebook with everyone who has its link.
    func shareNotebook(_ number: Int, _ notebook: Int) throws {
        let device = devices[number]
        let known = notebooks[notebook]
        guard known.owner == device.user, known.url == nil, !known.isBeingShared else { return }
        let cache = try device.opened()
        notebooks.change(notebook) { $0.isBeingShared = true }
        _ = device.world.startTask("script share") { [notebooks, world = device.world] in
            for _ in 0..<Self.attempts where !notebooks.isClosed {
                do {
                    let share = try await Self.share(notebook, with: cache)
                    let (id, url) = (share.recordID, share.url)
                    notebooks.change(notebook) { changed in
                        changed.shareID = id
                        changed.url = url
                    }
                    break
                } catch {
                    // The request met a fault: it is repeated, unless the world ends.
                    try? await world.sleep(20)
                }
            }
            notebooks.change(notebook) { $0.isBeingShared = false }
        }
    }

    private static func share(
        _ notebook: Int, with cache: CloudCache
    ) async throws -> CKShare {
        let zoneID = Self.zone(notebook)
        let created: CKShare
        if Plan.sharesWholeZone(notebook) {
            created = try await cache.shareZone(zoneID)
        } else {
            created = try await cache.share(
                CKRecord.ID(recordName: Notebooks.root, zoneID: zoneID))
        }
        return try await cache.changeShare(created.recordID) { $0.publicPermission = .readWrite }
    }

    func joinNotebook(_ number: Int, _ notebook: Int) throws {
        let device = devices[number]
        let user = device.user
        let known = notebooks[notebook]
        guard let owner = known.owner, owner != user, let url = known.url,
            !known.joining.contains(user)
        else { return }
        let cache = try device.opened()
        notebooks.change(notebook) { _ = $0.joining.insert(user) }
        _ = device.world.startTask("script join") { [notebooks, world = device.world] in
            var isAccepted = false
            for _ in 0..<Self.attempts where !isAccepted && !notebooks.isClosed {
                do {
                    try await cache.acceptShare(at: url)
                    isAccepted = true
                } catch {
                    // As above; or the share has ended.
                    try? await world.sleep(20)
                }
            }
            let hasJoined = isAccepted
            notebooks.change(notebook) { $0.endJoining(user, isAccepted: hasJoined) }
        }
    }

    func leaveNotebook(_ number: Int, _ notebook: Int) throws {
        let device = devices[number]
        let user = device.user
        guard let owner = notebooks[notebook].owner, owner != user else { return }
        let zone = Self.zone(notebook, owner: userRecordNames[owner])
        guard try device.opened().zoneIDs(in: .shared).contains(zone) else { return }
        var isCertain = true
        do {
            try device.opened().leaveShare(inZoneWith: zone)
        } catch {
            // The disk was full or the process ended: the user has left, or has not.
            isCertain = false
        }
        isCertain = isCertain && device.openCache != nil
        let hasLeft = isCertain
        notebooks.change(notebook) { $0.left(user, isCertain: hasLeft) }
    }

    func stopSharing(_ number: Int, _ notebook: Int) throws {
        let device = devices[number]
        let known = notebooks[notebook]
        guard known.owner == device.user, !known.isBeingShared, let id = known.shareID,
            try device.opened().record(for: id) != nil
        else { return }
        do {
            try device.opened().stopSharing(id)
        } catch {
            // The file says whether it was deleted.
        }
        guard try device.opened().record(for: id) == nil else { return }
        notebooks.change(notebook) { $0.isEnded = true }
    }

    // MARK: The pages

    func editPage(_ number: Int, _ notebook: Int, _ page: String) throws {
        let device = devices[number]
        let user = device.user
        guard let (id, scope) = place(page, ofNotebook: notebook, on: device),
            let record = try device.opened().record(for: id, in: scope)
        else { return }
        let field = "by\(number)of\(user)"
        let edit = ledger.nextNumber()
        record[field] = edit
        do {
            try device.opened().save(record, in: scope)
        } catch {
            // The file says whether it was saved.
        }
        let there = try device.opened().record(for: id, in: scope)
        guard there?[field] as Int64? == edit else { return }
        notebooks.change(notebook) { changed in
            changed.edits.append(
                Notebooks.Edit(page: page, field: field, user: user, number: edit))
        }
    }

    /// Takes a page out of the notebook, and with it out of the share.
    func movePage(_ number: Int, _ notebook: Int, _ page: String) throws {
        let device = devices[number]
        guard let (id, scope) = place(page, ofNotebook: notebook, on: device), scope == .private,
            let record = try device.opened().record(for: id, in: scope), record.parent != nil
        else { return }
        record.parent = nil
        do {
            try device.opened().save(record, in: scope)
        } catch {
            // The file says whether it was saved.
        }
        let there = try device.opened().record(for: id, in: scope)
        guard let there, there.parent == nil else { return }
        notebooks.change(notebook) { _ = $0.movedPages.insert(page) }
    }

    func deletePage(_ number: Int, _ notebook: Int, _ page: String) throws {
        let device = devices[number]
        guard let (id, scope) = place(page, ofNotebook: notebook, on: device), scope == .private,
            try device.opened().record(for: id, in: scope) != nil
        else { return }
        do {
            try device.opened().delete(id, in: scope)
        } catch {
            // The file says whether it was deleted.
        }
        guard try device.opened().record(for: id, in: scope) == nil else { return }
        notebooks.change(notebook) { _ = $0.deletedPages.insert(page) }
    }
}

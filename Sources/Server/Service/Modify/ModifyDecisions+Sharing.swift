import StratusRecords
import StratusStorage
import StratusWire

/// What a modify request does to records that it does not name.
struct SharingConsequences {
    /// By zone: rows that move to another share, and roots that got or lost one; without their versions.
    var touched: [String: [RecordWrite]] = [:]
    /// By zone: records whose children move to another share in steps after the request.
    var later: [String: [String]] = [:]
    /// By zone: the roots that stay shared, and that some records leave, which are moved in steps.
    var left: [String: Set<String>] = [:]
    /// By zone: shares that are deleted, named or not.
    var ended: [String: [RecordRow]] = [:]
    /// The zones of the request in which something is or was shared.
    var zonesWithShares: Set<String> = []
    /// Records that were read to find all of this.
    var recordsRead = 0
    /// About how many records are written besides those that the request names.
    var recordsWritten = 0
}

/// Each operation by itself.
extension ModifyDecisions {
    /// Why a participant may not do this to a record; nil when it is allowed, and for owners.
    func sharingRefusal(of operation: PlannedOperation, old: RecordRow?) -> ServiceError? {
        guard let rights = stored.rights[operation.key.zoneName], !rights.isOwn else { return nil }
        guard let old else {
            let inserts =
                operation.kind == .create || operation.kind.isForced && !operation.kind.isDeletion
            return inserts && stored.isHidden(operation.key) ? .notPermitted : nil
        }
        if old.type == ShareDictionary.recordType {
            return isAdministering(operation, old) ? nil : .notPermitted
        }
        guard rights.canWrite(old) else { return .notPermitted }
        // Deleting the root would end the share, which a participant may not do.
        return operation.kind.isDeletion && old.shareRoot == old.name ? .notPermitted : nil
    }

    /// Whether an administrator changes the share.
    private func isAdministering(_ operation: PlannedOperation, _ old: RecordRow) -> Bool {
        // A share that cannot be read has no administrators: the change is refused.
        let share = try? RecordSharing(old).share
        return operation.share != nil && !operation.kind.isDeletion
            && share?.isAdministrator(context.caller.userRecordName) == true
    }

    /// Whether a participant leaves the share by deleting it.
    func isLeaving(_ operation: PlannedOperation, _ old: RecordRow) -> Bool {
        guard let rights = stored.rights[operation.key.zoneName] else { return false }
        return !rights.isOwn && operation.kind.isDeletion
            && old.type == ShareDictionary.recordType
    }

    /// The share without the caller. Its change tag is not compared: others join and leave at the same time, and
    /// nothing of theirs is overwritten.
    func leaving(_ operation: PlannedOperation, _ old: RecordRow) -> Decision {
        do {
            let user = try context.user()
            var row = old
            var sharing = try RecordSharing(old)
            sharing.share?.leave(user, forGood: context.isForAccount)
            row.sharing = sharing.bytes
            row.modifiedMilliseconds = nowMilliseconds
            row.modifier = user
            row.modifierDevice = context.caller.device
            return .save(row, fields: try RecordFields.encoded(old.payload).values(), old: old)
        } catch {
            return unreadable(
                operation,
                "The stored share cannot be read; the operator can look at it with stratus doctor.",
                error)
        }
    }

    /// Adds the operation's changes of its share or its link to a row.
    func addSharing(
        to row: inout RecordRow, _ operation: PlannedOperation, old: RecordRow?
    ) throws {
        var sharing = try old.map { try RecordSharing($0) } ?? RecordSharing()
        if let planned = operation.share {
            let changes = ShareChanges(
                owner: planned.person, context: context, world: world)
            if let share = sharing.share {
                guard planned.wanted.root.map({ $0.recordName == share.root }) ?? true else {
                    throw ServiceError.invalid(
                        "The share has the root \(share.root ?? "-") and keeps it; delete the share first."
                    )
                }
                sharing.share = try changes.changed(share, to: planned.wanted)
            } else {
                let root = planned.wanted.root?.recordName
                guard root != nil || row.name == ShareDictionary.zoneShareName else {
                    throw ServiceError.shareWithoutRoot
                }
                sharing.share = try changes.newShare(root: root, planned.wanted)
                sharing.shortGUID = operation.shortGUID
                row.shareRoot = root
            }
        } else if sharing.shortGUID == nil, let shortGUID = operation.shortGUID {
            sharing.shortGUID = shortGUID
        } else {
            return
        }
        row.sharing = sharing.bytes
    }
}

/// All operations together.
extension ModifyDecisions {
    /// Fails operations on records that cannot be shared, and those by which a participant would move records to where
    /// they may not write.
    ///
    /// - Returns: Whether an operation failed that had not failed before.
    mutating func failUnshareable(_ reader: any StoreReader) throws -> Bool {
        var hasFailed = false
        for zone in stored.zones.values {
            let rights = stored.rights[zone.name] ?? .own
            let newShares = newShares(in: zone.name)
            guard !rights.isOwn || !newShares.isEmpty else { continue }
            var tree = try tree(of: zone, reader)
            var isShared = try !newShares.isEmpty && reader.hasShares(in: zone.key)
            let isZoneShared =
                try isShared && reader.shares(in: zone.key, limit: 1).first?.root == nil
            for index in newShares {
                let error = try refusal(
                    ofShare: index, in: zone, &tree, reader, isShared: isShared,
                    isZoneShared: isZoneShared)
                if let error {
                    fail(index, error)
                    hasFailed = true
                } else {
                    isShared = true
                }
            }
            if rights.isOwn { continue }
            for index in decisions.indices {
                guard case .save(let row, _, _) = decisions[index],
                    plan.items[index].zoneName == zone.name,
                    row.type != ShareDictionary.recordType
                else { continue }
                if try !rights.canWrite(under: tree.shareRoot(of: row.name)) {
                    fail(index, .notPermitted)
                    hasFailed = true
                }
            }
        }
        return hasFailed
    }

    /// The operations that create a share.
    private func newShares(in zoneName: String) -> [Int] {
        decisions.indices.filter { index in
            guard plan.items[index].zoneName == zoneName,
                case .save(let row, _, old: nil) = decisions[index]
            else { return false }
            return row.type == ShareDictionary.recordType
        }
    }

    /// Whether a cascade deletes the record that an operation saves.
    private func isTakenAlong(_ index: Int) -> Bool {
        guard case .ready(let operation) = plan.items[index] else { return false }
        return cascade.contains(operation.key)
    }

    private func refusal(
        ofShare index: Int, in zone: ZoneRow, _ tree: inout ShareTree, _ reader: any StoreReader,
        isShared: Bool, isZoneShared: Bool
    ) throws -> ServiceError? {
        guard case .ready(let operation) = plan.items[index],
            case .save(let row, _, _) = decisions[index]
        else { return nil }
        // The three codes are Apple's, from the pages of CKShare and CKRecordZone.
        guard let root = row.shareRoot else { return isShared ? .recordsSharedAlready : nil }
        if zone.encryptionScope == .perZone { return .zoneEncryptedAsOne }
        if isZoneShared { return .zoneSharedAlready }
        if let tag = operation.share?.wanted.root?.recordChangeTag, tree.saved[root] == nil,
            let stored = try tree.record(root), stored.changeTag != tag
        {
            return .staleChangeTag
        }
        if try tree.shareRoot(of: root) != nil { return .alreadyShared }
        // Records of a former share of this root are not yet moved, or are being deleted.
        if stored.underWay[zone.name]?.isEmpty == false, try tree.record(root)?.shareRoot != root,
            try reader.hasRecords(under: root, in: zone.key)
        {
            return .formerShareEnding
        }
        if (tree.saved[root]?.type ?? "") == ShareDictionary.recordType { return .shareWithoutRoot }
        if let stored = try tree.record(root), stored.type == ShareDictionary.recordType {
            return .shareWithoutRoot
        }
        tree.created[root] = row.name
        return nil
    }

    /// The zone's hierarchies after the request, without the shares that it creates.
    private func tree(of zone: ZoneRow, _ reader: any StoreReader) throws -> ShareTree {
        var tree = ShareTree(
            zone.key, isPlacing: stored.isPlacing(in: zone.name), reader: reader)
        for (item, decision) in zip(plan.items, decisions) where item.zoneName == zone.name {
            switch decision {
            case .save(let row, _, let old): tree.save(row, old: old)
            case .delete(_, let old): tree.delete(old)
            case .alreadyGone, .failed: break
            }
        }
        let cascaded = cascadedNames(in: zone.name)
        guard !cascaded.isEmpty else { return tree }
        for name in cascaded { tree.remove(name) }
        // Of the deleted records, only shares and roots matter to the remaining ones.
        let shares = try reader.shares(in: zone.key, limit: .max)
        let sharing = Set(shares.flatMap { [$0.name, $0.root].compactMap(\.self) })
        let rows = try reader.records(named: cascaded.filter(sharing.contains), in: zone.key)
        for name in cascaded {
            if let row = rows[name], !row.isDeleted { tree.delete(row) }
        }
        return tree
    }

    /// Assigns every record of the request to its share, and finds the other records whose share changes with them.
    /// Call it when no operation can fail any more.
    mutating func placeUnderShares(_ reader: any StoreReader) throws -> SharingConsequences {
        var consequences = SharingConsequences()
        for zone in stored.zones.values where zone.hasFeed {
            // A share that a cascade deletes shares nothing.
            let newShares = newShares(in: zone.name).filter { !isTakenAlong($0) }
            let isPlacing = stored.isPlacing(in: zone.name)
            guard try !newShares.isEmpty || isPlacing || reader.hasShares(in: zone.key) else {
                continue
            }
            consequences.zonesWithShares.insert(zone.name)
            var tree = try tree(of: zone, reader)
            for index in newShares {
                if case .save(let row, _, _) = decisions[index], let root = row.shareRoot {
                    tree.created[root] = row.name
                }
            }
            var shortGUIDs: [String: String] = [:]
            for root in tree.created.keys {
                shortGUIDs[root] = try shortGUID(ofRoot: root, &tree)
            }
            let replaced = try placeSaved(in: zone, &tree, shortGUIDs)
            let (touched, carried) = try touched(&tree, shortGUIDs)
            consequences.touched[zone.name] = touched
            consequences.recordsRead += carried.rowsRead
            // The steps that follow write at least this much.
            consequences.recordsWritten += touched.count + carried.rowsLater
            consequences.later[zone.name] = carried.later + (isPlacing ? replaced : [])
            consequences.left[zone.name] = carried.left
            consequences.ended[zone.name] = tree.endedShares
            sharesGoing.formUnion(tree.endedShares.map(\.name))
        }
        return consequences
    }

    /// A root and its share have the same link: the root's own, if it has one.
    private func shortGUID(ofRoot root: String, _ tree: inout ShareTree) throws -> String? {
        if !tree.ended.contains(root), let row = try tree.saved[root] ?? tree.record(root),
            let shortGUID = try RecordSharing(row).shortGUID
        {
            return shortGUID
        }
        guard let share = tree.created[root], let row = tree.saved[share] else { return nil }
        return try RecordSharing(row).shortGUID
    }

    /// - Returns: The records that existed before and move to another share.
    private mutating func placeSaved(
        in zone: ZoneRow, _ tree: inout ShareTree, _ shortGUIDs: [String: String]
    ) throws -> [String] {
        var replaced: [String] = []
        for index in decisions.indices {
            guard plan.items[index].zoneName == zone.name,
                case .save(var row, let fields, let old) = decisions[index]
            else { continue }
            if row.type == ShareDictionary.recordType {
                if old == nil, let root = row.shareRoot {
                    var sharing = try RecordSharing(row)
                    sharing.shortGUID = shortGUIDs[root]
                    row.sharing = sharing.bytes
                }
            } else {
                row.shareRoot = try tree.shareRoot(of: row.name)
                row.sharing = try rootSharing(of: row, tree, shortGUIDs)
                if let old, old.shareRoot != row.shareRoot { replaced.append(row.name) }
            }
            decisions[index] = .save(row, fields: fields, old: old)
        }
        return replaced
    }

    /// The sharing data of a record that got or lost a share.
    private func rootSharing(
        of row: RecordRow, _ tree: ShareTree, _ shortGUIDs: [String: String]
    ) throws -> [UInt8] {
        if let share = tree.created[row.name] {
            return RecordSharing(shortGUID: shortGUIDs[row.name], shareName: share).bytes
        }
        return tree.ended.contains(row.name) ? [] : row.sharing
    }

    /// - Returns: The rows to write with the request, and what moves along in steps.
    private func touched(
        _ tree: inout ShareTree, _ shortGUIDs: [String: String]
    ) throws -> (writes: [RecordWrite], carried: ShareTree.CarriedAlong) {
        var writes: [RecordWrite] = []
        for name in tree.ended.union(tree.created.keys).sorted() where tree.saved[name] == nil {
            guard !tree.gone.contains(name), let old = try tree.record(name) else { continue }
            var row = old
            row.shareRoot = try tree.shareRoot(of: name)
            row.sharing = try rootSharing(of: row, tree, shortGUIDs)
            writes.append(RecordWrite(row: row, fields: [], references: [], old: old))
        }
        let named = Set(writes.map(\.row.name))
        let limit = context.limits.recordsPerShareChange
        let carried = try tree.carriedAlong(limit: limit)
        for (old, root) in carried.rows where !named.contains(old.name) {
            var row = old
            row.shareRoot = root
            writes.append(RecordWrite(row: row, fields: [], references: [], old: old))
        }
        return (writes, carried)
    }

    /// The short GUIDs that the request did not use after all, and those of the shares that it ended.
    func sharingOutcome(after consequences: SharingConsequences) -> SharingOutcome {
        var unused = Set(plan.shortGUIDs)
        for share in consequences.ended.values.flatMap({ $0 }) {
            // The link of a share that cannot be read stays; it leads nowhere, since the share is gone.
            if let shortGUID = (try? RecordSharing(share))?.shortGUID { unused.insert(shortGUID) }
        }
        for (index, decision) in decisions.enumerated() {
            switch decision {
            case .save where isTakenAlong(index): break
            case .save(let row, _, _) where !row.sharing.isEmpty && !unused.isEmpty:
                // Never fails: the row was written just now. If it did, its link would look like an unused one.
                guard let sharing = try? RecordSharing(row) else { return SharingOutcome() }
                if let shortGUID = sharing.shortGUID { unused.remove(shortGUID) }
            case .delete(_, let old) where !old.sharing.isEmpty:
                // The links of a record that cannot be read stay; they lead nowhere, since the share is gone.
                if let shortGUID = (try? RecordSharing(old))?.shortGUID { unused.insert(shortGUID) }
            default: break
            }
        }
        return SharingOutcome(unusedShortGUIDs: unused.sorted())
    }
}

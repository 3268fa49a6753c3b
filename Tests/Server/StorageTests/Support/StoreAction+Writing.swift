import StratusRecords
import StratusStorage

extension StoreAction {
    /// Carries out the action.
    ///
    /// - Returns: its result as text.
    func apply(to writer: any RecordTransaction) throws -> String {
        if let found = try read(writer) { return found }
        switch self {
        case .createZone(let name, let hasFeed):
            return try String(
                describing: writer.createZone(
                    named: name, hasFeed: hasFeed, encryptionScope: hasFeed ? .perZone : .perRecord)
            )
        case .deleteZone(let name, let reason):
            try writer.deleteZone(writer.key(of: name), reason: reason)
        case .takeVersions(let count, let zone):
            return try "\(writer.takeVersions(count, in: writer.key(of: zone)))"
        case .purge(let version, let zone):
            return try "\(writer.purgeTombstones(through: version, in: writer.key(of: zone)))"
        case .save(let save): return try "\(Self.save(save, writer))"
        case .subscribe(let user, let identifier, let body):
            try writer.put(SubscriptionRow(user: user, identifier: identifier, body: body))
        case .unsubscribe(let user, let identifier):
            try writer.deleteSubscription(identifier, of: user)
        case .keepOutcome(let operation, let outcome, let expires):
            try writer.put(outcome: outcome, of: operation, expiresMilliseconds: expires)
        case .expireOutcomes(let moment): try writer.deleteOutcomes(expiredAt: moment)
        case .enqueue(let body): try writer.enqueue(body)
        case .dequeue(let identifier): try writer.dequeue(through: identifier)
        default: return try writeBesideRecords(writer)
        }
        return ""
    }

    private static func save(
        _ save: Save, _ writer: any RecordTransaction
    ) throws -> ClosedRange<Int64> {
        let zone = try writer.key(of: save.zone)
        let versions = try writer.takeVersions(save.names.count, in: zone)
        let before = try writer.records(named: save.names, in: zone)
        for (name, version) in zip(save.names, versions) {
            if save.keepsAncestors, let row = before[name] {
                try writer.put(AncestorRow(row, replacedAt: version))
            }
            try writer.put(
                RecordRow(
                    zone: zone, name: name, type: "T\(version % 2)", version: version,
                    commitVersion: versions.upperBound, changeTag: "\(version)",
                    isDeleted: save.isDeleted, creatorDevice: save.device,
                    createdMilliseconds: version,
                    modifiedMilliseconds: save.modifiedMilliseconds, creator: "_a",
                    modifier: "_b", modifierDevice: save.device,
                    parent: save.isDeleted ? nil : save.parent,
                    shareRoot: save.isDeleted ? nil : save.shareRoot,
                    payload: save.isDeleted ? [] : Array(name.utf8),
                    sharing: version % 3 == 0 && !save.isDeleted ? [1] : []))
        }
        return versions
    }

    private func writeBesideRecords(_ writer: any RecordTransaction) throws -> String {
        switch self {
        case .deleteAncestor(let version, let zone):
            try writer.deleteAncestor(replacedAt: version, in: writer.key(of: zone))
        case .deleteAncestors(let version, let zone):
            try writer.deleteAncestors(replacedThrough: version, in: writer.key(of: zone))
        case .putReference(let reference): try writer.put(reference.row(writer))
        case .deleteReference(let reference): try writer.delete(reference.row(writer))
        case .deleteReferences(let holder, let zone):
            try writer.deleteReferences(heldBy: holder, in: writer.key(of: zone))
        case .createIndex(let type, let field):
            return try String(
                describing: writer.createIndex(
                    .init(recordType: type, field: field, kind: .value, valueType: .string),
                    phase: .building))
        case .updateIndex(let key, let name, let zone):
            guard var index = try writer.indexes().first(where: { $0.key == key }) else { break }
            index.phase = .readable
            index.progressName = name
            index.progressZone = try writer.key(of: zone)
            try writer.update(index)
        case .deleteIndex(let index): try writer.deleteIndex(index)
        case .putEntry(let entry, let index, let zone):
            try writer.put(entry, of: index, in: writer.key(of: zone))
        case .deleteEntry(let entry, let index, let zone):
            try writer.delete(entry, of: index, in: writer.key(of: zone))
        case .admitAsset(let sha256, let bytes, let moment):
            let blob = BlobName(sha256: sha256, generation: UInt64(moment))
            return try String(
                describing: writer.admit(
                    AssetRow(blob: blob, sizeBytes: Int64(bytes), touchedMilliseconds: moment)))
        case .setAssets(let digests, let record, let zone):
            try writer.setAssets(digests, of: record, in: writer.key(of: zone))
        case .touchAssets(let moment):
            try writer.touchUnreferencedAssets(atMilliseconds: moment)
        case .takeAssets(let moment):
            // All of them, since the order of those touched at one moment is not guaranteed.
            let taken = try writer.takeUnreferencedAssets(touchedBefore: moment, limit: 99)
            return "\(taken.sorted { $0.blob.sha256[0] < $1.blob.sha256[0] })"
        default: return try writeShares(writer)
        }
        return ""
    }

    private func writeShares(_ writer: any RecordTransaction) throws -> String {
        switch self {
        case .putShare(let name, let root, let users, let zone):
            let key = try writer.key(of: zone)
            try writer.put(
                ShareRow(
                    zone: key, name: name, root: root, shortGUID: Self.shortGUID(name, key)),
                access: users.sorted().map {
                    ShareAccessRow(
                        share: name, user: $0, root: root, canWrite: $0 == "_u0", since: 7)
                })
        case .deleteShare(let name, let zone):
            try writer.deleteShare(name, in: writer.key(of: zone))
        case .leaveView(let name, let root, let zone):
            let key = try writer.key(of: zone)
            let version = try writer.takeVersions(1, in: key).lowerBound
            try writer.put(
                ShareEventRow(
                    zone: key, root: root, name: name, type: "T", version: version,
                    commitVersion: version))
        case .returnToView(let name, let root, let zone):
            try writer.deleteShareEvent(of: name, root: root, in: writer.key(of: zone))
        case .putSharedZone(let owner, let name, let isDeleted):
            return try String(
                describing: writer.put(
                    SharedZoneRow(
                        owner: owner, name: name, seenVersion: 3, seenAccess: 4,
                        isDeleted: isDeleted)))
        default: break
        }
        return ""
    }
}

extension StoreAction.Reference {
    fileprivate func row(_ reader: any StoreReader) throws -> ReferenceRow {
        try ReferenceRow(
            zone: reader.key(of: zone), target: target, action: action, holder: holder)
    }
}

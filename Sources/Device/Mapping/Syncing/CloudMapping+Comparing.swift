import StratusClient

extension CloudMapping {
    /// Compares the objects of a type with the cloud's changes.
    func compare<E: CloudEntity>(_ type: E.Type, in round: SyncRound) async throws -> TypeComparison
    {
        let map = E.cloudMap
        let knownNames = round.knownNames[map.recordType] ?? []
        var remote = try await remoteChanges(ofType: map.recordType, in: round)
        let entries = round.entries[map.recordType] ?? [:]
        let unreadable = try setAside(
            from: &remote, ofType: map.recordType, deleted: Set(entries.keys), in: round)
        let hidden = remote.hiddenNames.union(unreadable.names)
        var comparison = TypeComparison(
            deletions: ledger.pendingDeletions(map.recordType).filter {
                !remote.hiddenNames.contains($0)
            }, entryNames: entries.values.sorted(), readableNames: unreadable.formerNames,
            mark: remote.mark)
        let (objects, ignored) = try await objectsByName(type, in: round)
        let relinked = try await relinkedNames(of: objects)
        let pending = Set(comparison.deletions)
        var decided: Set<String> = []
        // Objects to send although they were not edited: their record is older, lacks references, or refers to deleted
        // objects.
        var outdated: Set<String> = []
        // Sorted, so that the order is always the same.
        for (name, record) in remote.records.sorted(by: { $0.key < $1.key })
        where record.recordType == map.recordType && !ignored.contains(name) {
            if pending.contains(name) { continue }
            guard let object = objects[name] else {
                // The app has removed the object only here: it is reported again only by a forced sync.
                let tag = ledger.known(map.recordType, name)?.tag
                if !round.isForced, let tag, tag == record.recordChangeTag { continue }
                comparison.new.append(record)
                continue
            }
            let isNewer =
                map.changeMilliseconds(of: record) ?? .min > object.changeMilliseconds ?? .min
            if !isNewer, relinked.contains(name) || refersToGone(E.self, record) {
                outdated.insert(name)
                continue
            }
            switch try await verdict(object, record, name, in: round) {
            case .updated: comparison.updated.append(record)
            case .agreed: comparison.agreed.append(record)
            case .upload:
                outdated.insert(name)
                continue
            case .seen: break
            }
            decided.insert(name)
        }
        for name in objects.keys where remote.records[name] == nil && !hidden.contains(name) {
            let isGone =
                remote.deletedNames.contains(name) || entries[name] != nil
                || (remote.isComplete && knownNames.contains(name))
            if isGone { comparison.deletedNames.append(name) }
        }
        decided.formUnion(comparison.deletedNames)
        for (name, object) in objects.sorted(by: { $0.key < $1.key })
        where !decided.contains(name) && !hidden.contains(name) {
            let isMissing = round.isForced && remote.records[name] == nil
            let isNewer = round.isForced && remote.records[name] != nil
            let isOutdated = outdated.contains(name) || relinked.contains(name)
            if isMissing || isNewer || isOutdated || isChanged(object, name) {
                comparison.uploads.append(object)
            }
        }
        comparison.deletedNames.sort()
        return comparison
    }

    /// The objects of a type, and the names of those that are ignored.
    private func objectsByName<E: CloudEntity>(
        _ type: E.Type, in round: SyncRound
    ) async throws -> (objects: [String: E], ignored: Set<String>) {
        var objects: [String: E] = [:]
        var ignored: Set<String> = []
        for object in try await store.all(type) {
            if isIgnored(object) {
                if let name = object.cloudID { ignored.insert(name) }
            } else {
                // A record's name never begins with a space.
                let own = round.isDry ? object.cloudID ?? " \(objects.count)" : nil
                objects[try own ?? self.name(object)] = object
            }
        }
        return (objects, ignored)
    }

    /// Whether a record weakly refers to a deleted one; possible in a cache, not at the service.
    private func refersToGone<E: CloudEntity>(_ type: E.Type, _ record: CKRecord) -> Bool {
        E.cloudMap.references.contains { reference in
            reference.target.isWeakTarget
                && reference.names(in: record).contains {
                    ledger.isDeleted(reference.target.recordTypeName, $0)
                }
        }
    }

    private enum Verdict {
        case updated
        case agreed
        case upload
        /// This device has saved or applied the record before.
        case seen
    }

    /// The newest change date wins; at equal dates the cloud's record wins, if it differs.
    private func verdict<E: CloudEntity>(
        _ object: E, _ record: CKRecord, _ name: String, in round: SyncRound
    ) async throws -> Verdict {
        let map = E.cloudMap
        let known = ledger.known(map.recordType, name)
        let (mine, theirs) = (object.changeMilliseconds, map.changeMilliseconds(of: record))
        let isEdited = known?.lacksEdit(of: mine) ?? true
        if !round.isForced {
            if let tag = known?.tag, tag == record.recordChangeTag {
                return isEdited ? .upload : .seen
            }
            if !isEdited, mine != theirs, !wasSaved(E.self, name, since: round.ticket) {
                return .updated
            }
        }
        if (mine ?? .min) > (theirs ?? .min) { return .upload }
        if mine == theirs {
            // A save of some fields has dated the record; the rest of the edit is not in it yet.
            if known?.isPart == true { return .upload }
            let ignored = try await ignoredRows(of: object)
            return try map.differs(object, record, ignored: ignored, mapping: self)
                ? .updated : .agreed
        }
        return .updated
    }

    /// The changes since the last sync of the type; a change feed is read once for all types with
    /// the same mark.
    private func remoteChanges(
        ofType type: String, in round: SyncRound
    ) async throws -> RemoteChanges {
        let mark = round.isForced ? nil : ledger.value("mark \(type)")
        let key = source.tellsDeletions ? mark ?? "" : "\(type) \(mark ?? "")"
        if let known = round.withState({ $0.feeds[key] }) { return known }
        let changes = try await source.changes(ofType: type, since: mark)
        round.withState { state in
            state.feeds[key] = changes
            state.records.merge(changes.records) { $1 }
        }
        return changes
    }
}

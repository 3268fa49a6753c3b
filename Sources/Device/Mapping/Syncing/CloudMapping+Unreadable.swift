import StratusClient

// A record that this version of the app cannot read is set aside: its object stays unchanged, and edits of the object wait.
// It is read again when it changes, and once in each process, because the app may have been updated. Its name is kept in
// the ledger.

extension CloudMapping {
    /// The key of a record that was set aside. A change feed does not say of which type such a record is.
    private func unreadableKey(_ type: String, _ name: String) -> String {
        "unreadable \(source.tellsDeletions ? "" : type) \(name)"
    }

    private func unreadableNames(_ type: String) -> Set<String> {
        ledger.keys(after: unreadableKey(type, ""))
    }

    /// Requests the records that were set aside, until none of them can be read.
    ///
    /// - Returns: those that can be read now, by name.
    func readableAgain(of types: [any CloudEntity.Type]) async throws -> [String: CKRecord] {
        guard !state.withLock({ $0.hasRetriedUnreadable }) else { return [:] }
        let names = types.reduce(into: Set<String>()) { names, type in
            names.formUnion(unreadableNames(type.recordTypeName))
        }
        var records: [String: CKRecord] = [:]
        if !names.isEmpty {
            records = try await source.records(named: names.sorted(), withFiles: true).records
            records = records.filter { entityType(named: $0.value.recordType) != nil }
        }
        if records.isEmpty, types.count == self.types.count {
            state.withLock { $0.hasRetriedUnreadable = true }
        }
        return records
    }

    /// Sets aside the records of a type's changes that cannot be read, and adds those that can be read again.
    ///
    /// - Parameter deleted: the names of objects that other devices have deleted.
    /// - Returns: the names of the records that are set aside, and of those that no longer are.
    func setAside(
        from remote: inout RemoteChanges, ofType type: String, deleted: Set<String>,
        in round: SyncRound
    ) throws -> (names: Set<String>, formerNames: Set<String>) {
        for (name, record) in round.readableAgain
        where record.recordType == type && remote.records[name] == nil
            && remote.unreadable[name] == nil && !remote.deletedNames.contains(name)
        {
            remote.records[name] = record
        }
        let known = unreadableNames(type)
        let new = remote.unreadable.filter { !known.contains($0.key) }
        if !round.isDry {
            for (name, error) in new.sorted(by: { $0.key < $1.key }) {
                log.error(
                    "A record cannot be read and was set aside. Update the app, or save the record again.",
                    metadata: ["record": "\(name)", "error": "\(error)"])
                try ledger.set(unreadableKey(type, name), "yes")
            }
            round.withState { $0.unreadable.merge(new) { $1 } }
        }
        let (records, unreadable, gone) = (remote.records, remote.unreadable, remote.deletedNames)
        let isComplete = remote.isComplete
        let former = known.filter { name in
            guard unreadable[name] == nil else { return false }
            return records[name]?.recordType == type || gone.contains(name)
                || deleted.contains(name) || (isComplete && records[name] == nil)
        }
        let names = known.union(unreadable.keys).subtracting(former).subtracting(deleted)
        return (names, former)
    }

    /// Notes that records were read, or are gone, that had been set aside.
    func noteReadable(_ names: Set<String>, ofType type: String) throws {
        for name in names.sorted() { try ledger.set(unreadableKey(type, name), nil) }
    }
}

extension MappingError {
    /// The error of saving an object whose record cannot be read.
    static func unreadable(_ name: String, _ error: CKError) -> MappingError {
        MappingError(
            .unreadable,
            "The object \(name) was not saved, because its record has fields that this version of the app cannot read."
                + " Update the app.", cause: error)
    }

    /// The error of records that cannot be read, by name; nil if there are none.
    static func unreadable(_ errors: [String: CKError]) -> MappingError? {
        guard let name = errors.keys.min() else { return nil }
        let others = errors.count == 1 ? " has" : " and \(errors.count - 1) more have"
        return MappingError(
            .unreadable,
            "The record \(name)\(others) fields that this version of the app cannot read; all others were synced. Update the app, or save the record again.",
            cause: errors[name])
    }
}

import Logging
import StratusRecords
import StratusStorage
import StratusWire

/// The caller's shared database: a view of other owners' zones, which stores only their names.
struct SharedDatabase: Sendable {
    let context: RequestContext
    private let databases: Databases
    /// The caller's own database, where the names are stored.
    let own: any RecordStore

    /// The address of a user's shared database in change tokens and continuation markers.
    static func address(of user: String, in address: ContainerAddress) -> DatabaseAddress {
        DatabaseAddress(address, .private(owner: "shared/" + user))
    }

    init(_ context: RequestContext, _ databases: Databases) async throws {
        self.context = context
        self.databases = databases
        own = try await databases.privateStore(of: context.user(), in: context.address)
    }

    /// The zones that the caller has joined, as far as this database knows: it may still have the name of a zone from
    /// which the caller was removed, which gives no access.
    func zones() async throws -> [SharedZoneRow] {
        try await own.read { try $0.sharedZones() }
    }

    /// The owners of these zones. Only their databases are ever opened: a request cannot create databases, or find out
    /// which users exist, by naming owners.
    func owners() async throws -> Set<String> {
        Set(try await zones().map(\.owner))
    }

    /// The address of an owner's database.
    private func home(of owner: String) -> DatabaseAddress {
        DatabaseAddress(context.address, .private(owner: owner))
    }

    func store(of owner: String) async throws -> any RecordStore {
        try await databases.privateStore(of: owner, in: context.address)
    }

    /// Makes and checks the tokens of this database's changes in a snapshot of the caller's own database.
    ///
    /// - Parameter logger: Gets a line when history was lost.
    func tokens(
        _ signer: TokenSigner, _ reader: any StoreReader, _ logger: Logger? = nil
    ) throws -> ChangeTokens {
        context.changeTokens(
            signer, of: Self.address(of: try context.user(), in: context.address), reader,
            logger: logger)
    }

    // MARK: Parts of requests

    /// Answers the items of a request owner by owner, and puts the results back in their order.
    ///
    /// When the request is about several owners, one whose file is damaged does not affect the others.
    ///
    /// - Parameters:
    ///   - zoneID: The zone of an item.
    ///   - refused: The result of an item whose zone the caller does not see, or whose owner's file is damaged.
    ///   - answer: Answers the items of one owner, with one result each.
    func answers<Item, Result>(
        _ items: [Item], zoneID: (Item) -> ZoneIDDictionary?,
        refused: (Item, ServiceError) -> Result,
        from answer: (RequestContext, [Item]) async throws -> [Result]
    ) async throws -> [Result] {
        let known = try await owners()
        var results: [Result?] = items.map { _ in nil }
        var order: [String] = []
        var parts: [String: [Int]] = [:]
        for (index, item) in items.enumerated() {
            guard let owner = zoneID(item)?.ownerRecordName, known.contains(owner) else {
                results[index] = refused(item, .zoneNotFound)
                continue
            }
            if parts[owner] == nil { order.append(owner) }
            parts[owner, default: []].append(index)
        }
        for owner in order {
            context.chargeForOwner()
            let indices = parts[owner] ?? []
            do {
                let part = try await answer(context.viewing(owner), indices.map { items[$0] })
                for (index, result) in zip(indices, part) { results[index] = result }
            } catch let error as StorageError
                where order.count > 1 && error.database == home(of: owner)
            {
                // Each item of this owner gets the error.
                let failure = databases.errors.failure(from: error)
                for index in indices { results[index] = refused(items[index], failure.error) }
            }
        }
        return zip(items, results).map { item, result in result ?? refused(item, .zoneNotFound) }
    }

    // MARK: What changed

    /// Compares every zone with its last state, and stores which of them changed in the view, appeared or disappeared.
    ///
    /// - Returns: The zones after a database version, and the version up to which the list is complete.
    func changes(after version: Int64) async throws -> (zones: [SharedZoneRow], version: Int64) {
        let states = try await states(of: try await zones())
        let now = try await own.read { reader in
            let isOld = try Self.outdated(states, in: reader).isEmpty == false
            return (
                isOld, try reader.sharedZones(changedAfter: version, limit: .max),
                try reader.databaseVersion
            )
        }
        guard now.0 else { return (now.1, now.2) }
        return try await own.write { writer in
            for row in try Self.outdated(states, in: writer) { try writer.put(row) }
            return (
                try writer.sharedZones(changedAfter: version, limit: .max),
                try writer.databaseVersion
            )
        }
    }

    /// The states that differ from what was last seen; a zone that changed again in the meantime is left out.
    private static func outdated(
        _ states: [SharedZoneRow], in reader: any StoreReader
    ) throws -> [SharedZoneRow] {
        try states.filter { state in
            guard let row = try reader.sharedZone(owner: state.owner, name: state.name),
                row.changedAtDatabaseVersion == state.changedAtDatabaseVersion
            else { return false }
            return row != state
        }
    }

    /// The current state of the zones, those of one owner in one snapshot.
    func states(of zones: [SharedZoneRow]) async throws -> [SharedZoneRow] {
        var states: [SharedZoneRow] = []
        context.work.add(zonesRead: zones.count)
        // In one order: the zones that have changed get the next versions of this database in the order of the states.
        let groups = Dictionary(grouping: zones, by: \.owner).sorted { $0.key < $1.key }
        for (owner, rows) in groups {
            context.chargeForOwner()
            let view = context.viewing(owner)
            let names = rows.map(\.name)
            let seen: [(version: Int64, access: Int64)?]
            do {
                seen = try await store(of: owner).read { reader in
                    try names.map { name -> (version: Int64, access: Int64)? in
                        do {
                            guard let zone = try view.livingZone(named: name, reader) else {
                                return nil
                            }
                            return (
                                try reader.version(of: zone.row, seenWith: zone.rights),
                                zone.rights.access
                            )
                        } catch let error as ServiceError where error.code == .zoneBusy {
                            // As if nothing was seen of it: it has changed now, and again when it can be looked at.
                            return (0, 0)
                        }
                    }
                }
            } catch let error as StorageError where error.database == home(of: owner) {
                // This owner's zones stay as they were seen last; those of others are looked at.
                _ = databases.errors.failure(from: error)
                states += rows
                continue
            }
            for (row, state) in zip(rows, seen) {
                var row = row
                if let state {
                    row.seenVersion = state.version
                    row.seenAccess = state.access
                } else {
                    row.isDeleted = true
                }
                states.append(row)
            }
        }
        return states
    }
}

extension RequestContext {
    /// Looking into another owner's database costs as much as reading this many records: it may have to be opened.
    private static let recordsPerOwner = 16

    /// Charges the request for looking into an owner's database.
    func chargeForOwner() {
        work.add(recordsRead: Self.recordsPerOwner)
    }
}

import StratusRecords
import StratusStorage
import StratusWire

/// Removes what a user has: the zones of the private databases, what the default zones hold, and the part in others'
/// shares. What a process that ends leaves, the same call removes.
struct AccountRemoval: Sendable {
    private static let zonesAtOnce = 100

    let requests: OwnRequests
    let storage: any StorageEngine
    let settings: ServiceSettings

    func removeData(of userRecordName: String) async throws {
        for address in try await storage.directory.containers() {
            let context = RequestContext(
                owner: userRecordName, at: address, scope: .private, settings)
            try await leaveShares(context.viewingShared)
            let databases = try await storage.databases()
            if databases.contains(DatabaseAddress(address, .public)) {
                try await emptyPublicUser(userRecordName, at: address)
            }
            guard databases.contains(DatabaseAddress(address, .private(owner: userRecordName)))
            else { continue }
            let zones = try await zoneIDs(in: context)
            try await delete(
                zones.filter { $0.zoneName != ZoneID.defaultZoneName }, in: context)
            try await emptyDefaultZone(context)
        }
    }

    private func zoneIDs(in context: RequestContext) async throws -> [ZoneIDDictionary] {
        try await requests.answer(ZonesList.self, .init(), in: context).items.map {
            try $0.get().zoneID
        }
    }

    /// A zone that is deleted from the shared database is left: its owner keeps it.
    private func leaveShares(_ context: RequestContext) async throws {
        try await delete(try await zoneIDs(in: context), in: context)
    }

    private func delete(_ zones: [ZoneIDDictionary], in context: RequestContext) async throws {
        for start in stride(from: 0, to: zones.count, by: Self.zonesAtOnce) {
            let some = zones[start..<min(start + Self.zonesAtOnce, zones.count)]
            let results = try await requests.answer(
                ZonesModify.self, .init(operations: some.map { .init(.delete, $0) }), in: context)
            for result in results.items { _ = try result.get() }
        }
    }

    private func emptyDefaultZone(_ context: RequestContext) async throws {
        var archive = ZoneReading(requests: requests, context: context)
        while let page = try await archive.nextPage(of: ZoneIDDictionary()) {
            try await modify(
                page.map { record in
                    // The system keeps a user's own record: it loses what was in it.
                    record.recordType == RecordDictionary.userRecordType
                        ? .init(.forceReplace, .emptyUser(record.recordName ?? ""))
                        : .init(.forceDelete, RecordDictionary(recordName: record.recordName))
                }, in: context)
        }
    }

    /// What the user's own record of the public database said; the records of apps there stay with them.
    private func emptyPublicUser(_ name: String, at address: ContainerAddress) async throws {
        let context = RequestContext(
            owner: name, at: address, scope: .public, settings)
        try await modify([.init(.forceReplace, .emptyUser(name))], in: context)
    }

    private func modify(
        _ operations: [RecordsModify.Operation], in context: RequestContext
    ) async throws {
        guard !operations.isEmpty else { return }
        let answer = try await requests.answer(
            RecordsModify.self, .init(operations: operations, isAtomic: false), in: context)
        for case .failure(let failure) in answer.records where failure.error.code != .notFound {
            throw failure.error
        }
    }
}

extension RecordDictionary {
    fileprivate static let userRecordType = "Users"

    fileprivate static func emptyUser(_ name: String) -> RecordDictionary {
        RecordDictionary(recordName: name, recordType: userRecordType)
    }
}

extension RequestContext {
    /// A user's own request that no client sent.
    init(
        owner: String, at address: ContainerAddress, scope: DatabaseScope,
        _ settings: ServiceSettings
    ) {
        self.init(
            caller: Caller(userRecordName: owner, device: "account", wantsExtensions: true),
            address: address, scope: scope, origin: "", limits: settings.limits,
            nowMilliseconds: settings.world.nowMilliseconds())
        readsDefaultZone = true
    }
}

/// Reads a zone's records page by page, those of the default zone too.
struct ZoneReading {
    private static let recordsAtOnce = 200

    let requests: OwnRequests
    let context: RequestContext
    private var syncToken: String?
    private var isAtEnd = false

    init(requests: OwnRequests, context: RequestContext) {
        self.requests = requests
        self.context = context
    }

    /// The next records; nil behind the last.
    mutating func nextPage(of zoneID: ZoneIDDictionary) async throws -> [RecordDictionary]? {
        guard !isAtEnd else { return nil }
        let item = ChangesZone.Item(
            zoneID: zoneID, syncToken: syncToken, resultsLimit: Self.recordsAtOnce)
        let answer = try await requests.answer(ChangesZone.self, .init(zones: [item]), in: context)
        guard let result = answer.items.first else { return nil }
        let page: ChangesZone.Page
        switch result {
        case .success(let found): page = found
        case .failure(let failure): throw failure.error
        }
        syncToken = page.syncToken
        isAtEnd = !page.moreComing
        return page.records.compactMap {
            if case .record(let record) = $0 { record } else { nil }
        }
    }
}

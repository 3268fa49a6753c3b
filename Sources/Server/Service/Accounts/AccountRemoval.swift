import Algorithms
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Removes what a user has: the zones of the private databases, the contents of the default zones, the user's part in
/// others' shares, the subscriptions, and the records that the user created in public databases.
///
/// Each step is a request of its own: other requests are served between two of them, and devices are notified of the
/// deletions. If the process ends in between, calling it again removes the rest.
struct AccountRemoval: Sendable {
    /// Zones or subscriptions of a request, so that others are served in between.
    private static let itemsAtOnce = 100

    let requests: OwnRequests
    let storage: any StorageEngine
    let limits: Limits
    let world: World

    func removeData(of userRecordName: String) async throws {
        for address in try await storage.directory.containers() {
            let databases = try await storage.databases()
            if databases.contains(DatabaseAddress(address, .private(owner: userRecordName))) {
                let context = RequestContext(
                    owner: userRecordName, at: address, scope: .private, limits: limits,
                    world: world)
                let shared = context.viewingShared
                // Deleting a zone from the shared database only leaves the share: its owner keeps the zone.
                try await delete(try await zoneIDs(in: shared), in: shared)
                try await removeSubscriptions(shared)
                try await removeSubscriptions(context)
                let zones = try await zoneIDs(in: context)
                try await delete(
                    zones.filter { $0.zoneName != ZoneID.defaultZoneName }, in: context)
                try await CreatedRecordsRemoval(requests, context, creator: nil).run()
            }
            if databases.contains(DatabaseAddress(address, .public)) {
                let context = RequestContext(
                    owner: userRecordName, at: address, scope: .public, limits: limits,
                    world: world)
                try await removeSubscriptions(context)
                try await CreatedRecordsRemoval(requests, context, creator: userRecordName).run()
            }
        }
    }

    private func zoneIDs(in context: RequestContext) async throws -> [ZoneIDDictionary] {
        try await requests.answer(ZonesList.self, .init(), in: context).items.map {
            try $0.get().zoneID
        }
    }

    private func delete(_ zones: [ZoneIDDictionary], in context: RequestContext) async throws {
        for some in zones.chunks(ofCount: context.itemsAtOnce(Self.itemsAtOnce)) {
            let results = try await requests.answer(
                ZonesModify.self, .init(operations: some.map { .init(.delete, $0) }), in: context)
            for result in results.items { _ = try result.get() }
        }
    }

    private func removeSubscriptions(_ context: RequestContext) async throws {
        let stored = try await requests.answer(SubscriptionsList.self, .init(), in: context).items
        let identifiers = stored.compactMap {
            if case .subscription(let subscription) = $0 {
                subscription.subscriptionID
            } else {
                nil
            }
        }
        for some in identifiers.chunks(ofCount: context.itemsAtOnce(Self.itemsAtOnce)) {
            let operations = some.map {
                SubscriptionsModify.Operation(
                    .delete, SubscriptionDictionary(subscriptionID: $0, kind: nil))
            }
            _ = try await requests.answer(
                SubscriptionsModify.self, .init(operations), in: context)
        }
    }
}

extension RequestContext {
    /// A user's own request that no client sent.
    init(
        owner: String, at address: ContainerAddress, scope: DatabaseScope, limits: Limits,
        world: World
    ) {
        self.init(
            caller: Caller(userRecordName: owner, device: "account", wantsExtensions: true),
            address: address, scope: scope, origin: "", limits: limits,
            nowMilliseconds: world.nowMilliseconds())
        isForAccount = true
    }

    /// How many items one of these requests has: at most as many as the operator lets clients send.
    func itemsAtOnce(_ most: Int) -> Int { max(1, min(most, limits.operationsPerRequest)) }

    /// How many records one of these requests names: no more than may be read at once if each has the largest size.
    func recordsAtOnce(_ most: Int, readBytes: Int) -> Int {
        itemsAtOnce(min(most, readBytes / max(1, limits.recordBytes)))
    }
}

/// Reads a zone's records page by page, those of the default zone too.
struct ZoneReading {
    /// Records of a page, which has fewer if they are large.
    private static let recordsAtOnce = 200

    let requests: OwnRequests
    let context: RequestContext
    private var syncToken: String?
    private var isAtEnd = false

    init(requests: OwnRequests, context: RequestContext) {
        self.requests = requests
        self.context = context
    }

    /// The next records; nil at the end.
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

import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The life of an operation, from its creation to its release.
@Suite(.timeLimit(.minutes(20)))
struct OperationLifeTests {
    private let log = Log()
    private static let cancelled = "\(CKError.Code.operationCancelled.rawValue)"

    private func note(_ result: Result<Void, any Error>) {
        switch result {
        case .success: log.add("ok")
        case .failure(let error): log.add("\((error as? CKError)?.code.rawValue ?? 0)")
        }
    }

    private func save(_ names: String...) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: names.map(hut))
        let (log, note) = (log, note)
        operation.perRecordSaveBlock = { id, _ in log.add(id.recordName) }
        operation.modifyRecordsResultBlock = { note($0) }
        return operation
    }

    /// A database that never answers, and a stream of its requests.
    private func silentDatabase() -> (CKDatabase, AsyncStream<Void>) {
        let (started, starts) = AsyncStream.makeStream(of: Void.self)
        let database = database { request, _ in
            starts.yield()
            try await Task.sleep(for: .seconds(3_600))
            return accept(request)
        }
        return (database, started)
    }

    // MARK: Cancelling

    @Test("An operation cancelled while it waits for another ends at once")
    func cancelEndsWaitingOperation() async {
        let (database, started) = silentDatabase()
        let (first, second) = (save("a"), save("b"))
        first.modifyRecordsResultBlock = { _ in }
        second.addDependency(first)
        database.add(first)
        for await _ in started { break }
        await withCheckedContinuation { continuation in
            second.completionBlock = { continuation.resume() }
            database.add(second)
            second.cancel()
        }
        #expect(log.all == [Self.cancelled])
        #expect(second.isFinished && !first.isFinished)
        first.cancel()
    }

    @Test("An operation cancelled between pages reports no further records")
    func cancelBetweenPagesStopsFetch() async {
        let (log, note) = (log, note)
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips])
        operation.recordWasChangedBlock = { id, _ in log.add(id.recordName) }
        operation.recordZoneChangeTokensUpdatedBlock = { [unowned operation] _, _, _ in
            log.add("token")
            operation.cancel()
        }
        operation.recordZoneFetchResultBlock = { _, _ in log.add("zone") }
        operation.fetchRecordZoneChangesResultBlock = { note($0) }
        await run(operation, on: database { _, _ in Self.page("a", "b") })
        #expect(log.all == ["a", "b", "token", Self.cancelled])
    }

    private static func page(_ names: String...) -> ChangesZone.Answer {
        ChangesZone.Answer([
            .success(
                .init(
                    zoneID: ZoneIDDictionary(zoneName: "Trips"), records: names.map { served($0) },
                    syncToken: "t", moreComing: true))
        ])
    }

    @Test("An operation cancelled by one of its blocks calls no further blocks", arguments: 0..<4)
    func cancelInsideBlockStopsFurtherBlocks(_ kind: Int) async {
        let (log, note) = (log, note)
        let operation: CKDatabaseOperation
        switch kind {
        case 0:
            let modify = CKModifyRecordsOperation(
                recordsToSave: [hut("a"), hut("b")], recordIDsToDelete: [hut("c").recordID])
            modify.perRecordSaveBlock = { [unowned modify] id, _ in
                log.add(id.recordName)
                modify.cancel()
            }
            modify.perRecordDeleteBlock = { id, _ in log.add(id.recordName) }
            modify.modifyRecordsResultBlock = { note($0) }
            operation = modify
        case 1:
            let fetch = CKFetchRecordsOperation(
                recordIDs: [hut("a").recordID, hut("b").recordID])
            fetch.perRecordResultBlock = { [unowned fetch] id, _ in
                log.add(id.recordName)
                fetch.cancel()
            }
            fetch.fetchRecordsResultBlock = { note($0) }
            operation = fetch
        case 2:
            let query = CKQueryOperation(
                query: CKQuery(recordType: "Hut", predicate: NSPredicate(value: true)))
            query.recordMatchedBlock = { [unowned query] id, _ in
                log.add(id.recordName)
                query.cancel()
            }
            query.queryResultBlock = { note($0.map { _ in }) }
            operation = query
        default:
            let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips])
            changes.recordWasChangedBlock = { [unowned changes] id, _ in
                log.add(id.recordName)
                changes.cancel()
            }
            changes.recordZoneChangeTokensUpdatedBlock = { _, _, _ in log.add("token") }
            changes.fetchRecordZoneChangesResultBlock = { note($0) }
            operation = changes
        }
        await run(
            operation,
            on: database { request, _ in
                switch request {
                case is RecordsModify.Request: return accept(request)
                case is RecordsLookup.Request:
                    return RecordsLookup.Answer(records: [served("a"), served("b")])
                case is RecordsQuery.Request:
                    return RecordsQuery.Answer(records: [served("a"), served("b")])
                default: return Self.page("a", "b")
                }
            })
        #expect(log.all == ["a", Self.cancelled])
    }

    @Test("An operation cancelled after its result has succeeded")
    func cancelAfterResultKeepsSuccess() async {
        let operation = save("a")
        let note = note
        operation.modifyRecordsResultBlock = { [unowned operation] result in
            note(result)
            operation.cancel()
        }
        await run(operation, on: database { request, _ in accept(request) })
        #expect(log.all == ["a", "ok"])
    }

    @Test("An operation cancelled at any moment reports one result and ends", arguments: 0..<40)
    func cancelAtAnyMomentGivesOneResult(_ moment: Int) async {
        let operation = save("a", "b")
        // On a busy machine twenty turns can take longer than a request may.
        operation.configuration.timeoutIntervalForRequest = 1_200
        let canceller = Task.detached {
            for _ in 0..<moment * 3 { await Task.yield() }
            operation.cancel()
        }
        await run(
            operation,
            on: database { request, _ in
                for _ in 0..<20 { await Task.yield() }
                return accept(request)
            })
        await canceller.value
        #expect(log.all.filter { $0 == "ok" || $0 == Self.cancelled }.count == 1)
        #expect(
            [
                ["a", "b", "ok"], ["a", "b", Self.cancelled], ["a", Self.cancelled],
                [Self.cancelled],
            ]
            .contains(log.all))
        #expect(operation.isFinished && !operation.isExecuting)
    }

    @Test("A cancelled task cancels its operation")
    func cancelledTaskCancelsItsOperation() async {
        let (database, started) = silentDatabase()
        let task = Task { await codeOf { try await database.save(hut("a")) } }
        for await _ in started { break }
        task.cancel()
        #expect(await task.value == .operationCancelled)
    }

    // MARK: The order of blocks

    @Test("Blocks are called one at a time: for items, for the result, for the completion")
    func blocksAreCalledInOrder() async {
        let busy = Atomic<Bool>(false)
        let overlaps = Atomic<Int>(0)
        let log = log
        @Sendable func enter(_ word: String) {
            if busy.exchange(true, ordering: .relaxed) { overlaps.add(1, ordering: .relaxed) }
            #expect(!Thread.isMainThread)
            log.add(word)
            busy.store(false, ordering: .relaxed)
        }
        let operation = CKModifyRecordsOperation(
            recordsToSave: (0..<50).map { hut("r\($0)") }, recordIDsToDelete: [hut("x").recordID])
        operation.perRecordProgressBlock = { record, part in
            enter("\(record.recordID.recordName) \(part)")
        }
        operation.perRecordSaveBlock = { id, _ in enter(id.recordName) }
        operation.perRecordDeleteBlock = { id, _ in enter(id.recordName) }
        operation.modifyRecordsResultBlock = { _ in enter("result") }
        operation.completionBlock = { enter("completion") }
        await run(operation, on: database { request, _ in accept(request) })
        let items = (0..<50).flatMap { ["r\($0) 1.0", "r\($0)"] } + ["x"]
        #expect(log.all == items + ["result", "completion"])
        #expect(overlaps.load(ordering: .relaxed) == 0)
    }

    // MARK: Use and release

    @Test("A finished operation is released, even if one of its blocks refers to it")
    func finishedOperationIsReleased() async {
        weak var weakModify: CKModifyRecordsOperation?
        weak var weakFetch: CKFetchRecordZoneChangesOperation?
        do {
            let database = database { request, _ in
                if request is RecordsModify.Request { return accept(request) }
                return Self.last
            }
            let modify = CKModifyRecordsOperation(recordsToSave: [hut("a")])
            modify.perRecordSaveBlock = { _, _ in _ = modify.recordsToSave }
            modify.perRecordProgressBlock = { _, _ in _ = modify.recordsToSave }
            modify.perRecordDeleteBlock = { _, _ in _ = modify.recordsToSave }
            modify.modifyRecordsResultBlock = { _ in _ = modify.recordsToSave }
            weakModify = modify
            await run(modify, on: database)
            let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips])
            fetch.recordWasChangedBlock = { _, _ in _ = fetch.recordZoneIDs }
            fetch.recordWithIDWasDeletedBlock = { _, _ in _ = fetch.recordZoneIDs }
            fetch.recordZoneFetchResultBlock = { _, _ in _ = fetch.recordZoneIDs }
            fetch.fetchRecordZoneChangesResultBlock = { _ in _ = fetch.recordZoneIDs }
            weakFetch = fetch
            await run(fetch, on: database)
        }
        // The queue releases an operation just after its completion block was called.
        for _ in 0..<10_000 where weakModify != nil || weakFetch != nil { await Task.yield() }
        #expect(weakModify == nil && weakFetch == nil)
    }

    private static let last = ChangesZone.Answer([
        .success(
            .init(
                zoneID: ZoneIDDictionary(zoneName: "Trips"), records: [served("a")],
                syncToken: "t", moreComing: false))
    ])

    @Test("A finished operation of any kind releases its blocks")
    func finishedOperationReleasesItsBlocks() async throws {
        let trip = try await Trip()
        let link = URL(fileURLWithPath: "/link")
        var operations: [CKOperation] = LongLivedKind.allCases.map { kind in
            let operation = kind.operation(photo: link)
            kind.listen(operation, log)
            return operation
        }
        let accept = CKAcceptSharesOperation(shareMetadatas: [])
        accept.perShareResultBlock = { _, _ in }
        accept.acceptSharesResultBlock = { _ in }
        let metadata = CKFetchShareMetadataOperation(shareURLs: [link])
        metadata.perShareMetadataResultBlock = { _, _ in }
        metadata.fetchShareMetadataResultBlock = { _ in }
        let participants = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [])
        participants.perShareParticipantResultBlock = { _, _ in }
        participants.fetchShareParticipantsResultBlock = { _ in }
        let discovery = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [])
        discovery.userIdentityDiscoveredBlock = { _, _ in }
        discovery.discoverUserIdentitiesResultBlock = { _ in }
        let contacts = CKDiscoverAllUserIdentitiesOperation()
        contacts.userIdentityDiscoveredBlock = { _ in }
        contacts.discoverAllUserIdentitiesResultBlock = { _ in }
        let token = CKFetchWebAuthTokenOperation(apiToken: "t")
        token.fetchWebAuthTokenResultBlock = { _ in }
        operations += [accept, metadata, participants, discovery, contacts, token]
        for operation in operations {
            operation.longLivedOperationWasPersistedBlock = {}
            #expect(Self.blocks(of: operation).count >= 2)
            await run(operation, on: trip.ida)
            #expect(Self.blocks(of: operation) == [], "\(operation)")
        }
    }

    /// The names of the blocks that an operation holds.
    private static func blocks(of operation: CKOperation) -> [String] {
        var names: [String] = []
        var mirror: Mirror? = Mirror(reflecting: operation)
        while let level = mirror {
            for child in level.children {
                guard let name = child.label, name.hasSuffix("Block") else { continue }
                if Mirror(reflecting: child.value).children.first != nil { names.append(name) }
            }
            mirror = level.superclassMirror
        }
        return names
    }

    @Test("An operation that was never added does not affect its dependency")
    func droppedOperationDoesNotAffectItsDependency() async {
        let (opened, opens) = AsyncStream.makeStream(of: Void.self)
        let first = save("a")
        do {
            let never = save("b")
            never.addDependency(first)
        }
        opens.yield()
        await run(
            first,
            on: database { request, _ in
                for await _ in opened { break }
                return accept(request)
            })
        #expect(log.all == ["a", "ok"])
    }

    @Test("Starting an operation twice traps")
    func startingOperationTwiceTraps() async {
        await #expect(processExitsWith: .failure) {
            let operation = CKFetchRecordsOperation(recordIDs: [])
            let database = database { _, _ in EmptyBody() }
            await run(operation, on: database)
            await run(operation, on: database)
        }
    }

    // MARK: Settings

    @Test("Each setting comes from the operation, else its group, else its database")
    func operationSettingsComeFromNearestConfiguration() async {
        let asked = Mutex<[Double]>([])
        let transport = TimesTransport { seconds in asked.withLock { $0.append(seconds) } }
        let container = CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(transport: transport, hasAccount: true))
        func configuration(_ seconds: Double?) -> CKOperation.Configuration {
            let configuration = CKOperation.Configuration()
            if let seconds { configuration.timeoutIntervalForRequest = seconds }
            // Another setting, which must not affect the timeout.
            configuration.qualityOfService = .userInitiated
            return configuration
        }
        let cases: [(own: Double?, group: Double?, database: Double?, expected: Double)] = [
            (1, 2, 3, 1), (nil, 2, 3, 2), (nil, nil, 3, 3), (nil, nil, nil, 60), (60, 2, 3, 60),
        ]
        for (own, group, database, _) in cases {
            let operation = CKFetchRecordsOperation(recordIDs: [hut("a").recordID])
            // A copy keeps track of which settings were set.
            let copy = configuration(own).copy() as? CKOperation.Configuration
            operation.configuration = copy
            operation.group = CKOperationGroup()
            operation.group?.defaultConfiguration = configuration(group)
            let chosen = container.privateCloudDatabase.configuredWith(
                configuration: configuration(database)
            ) { $0 }
            await run(operation, on: chosen)
        }
        #expect(asked.withLock { $0 } == cases.map(\.expected))
    }

    @Test("An operation copies its configuration")
    func configurationIsCopied() {
        let shared = CKOperation.Configuration()
        shared.timeoutIntervalForRequest = 5
        let operation = CKFetchRecordsOperation(recordIDs: [])
        operation.configuration = shared
        shared.timeoutIntervalForRequest = 9
        #expect(operation.configuration.timeoutIntervalForRequest == 5)
        let group = CKOperationGroup()
        group.defaultConfiguration = shared
        shared.timeoutIntervalForRequest = 11
        #expect(group.defaultConfiguration.timeoutIntervalForRequest == 9)
    }
}

/// Records the time limit of each request, and answers nothing.
private struct TimesTransport: Transport {
    var note: @Sendable (Double) -> Void

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        note(timeoutSeconds)
        throw ServiceFailure(ServiceError(.accessDenied, "no"))
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? { nil }
}

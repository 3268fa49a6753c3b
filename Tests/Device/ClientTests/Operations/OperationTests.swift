import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Synchronization
import Testing

/// Behaviour that all operations have in common.
@Suite struct OperationTests {
    private func fetch(_ log: Log) -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [hut("a").recordID])
        operation.fetchRecordsResultBlock = { result in
            switch result {
            case .success: log.add("ok")
            case .failure(let error): log.add("\((error as? CKError)?.code as Any)")
            }
        }
        return operation
    }

    @Test func cancelledOperationReportsOneResult() async {
        let log = Log()
        let operation = fetch(log)
        operation.cancel()
        await run(operation, on: database { _, _ in RecordsLookup.Answer(records: []) })
        #expect(log.all == ["Optional(StratusRecords.FrameworkErrorCode.operationCancelled)"])
        #expect(operation.isFinished && !operation.isExecuting)
    }

    @Test func cancelStopsRunningRequest() async {
        let log = Log()
        let operation = fetch(log)
        operation.perRecordResultBlock = { _, _ in log.add("record") }
        await run(
            operation,
            on: database { _, _ in
                operation.cancel()
                try await Task.sleep(for: .seconds(3_600))
                return RecordsLookup.Answer(records: [])
            })
        #expect(log.all == ["Optional(StratusRecords.FrameworkErrorCode.operationCancelled)"])
    }

    @Test func dependencyRunsFirst() async {
        let log = Log()
        let database = database { request, _ in
            log.add(request is RecordsModify.Request ? "save" : "fetch")
            if request is RecordsModify.Request { return accept(request) }
            return RecordsLookup.Answer(records: [served("a")])
        }
        let save = CKModifyRecordsOperation(recordsToSave: [hut("a")])
        let fetch = CKFetchRecordsOperation(recordIDs: [hut("a").recordID])
        fetch.addDependency(save)
        await withCheckedContinuation { continuation in
            fetch.completionBlock = { continuation.resume() }
            database.add(fetch)
            database.add(save)
        }
        #expect(log.all == ["save", "fetch"])
    }

    @Test func operationRunsOnCustomQueue() async {
        let log = Log()
        let operation = fetch(log)
        operation.database = database { _, _ in RecordsLookup.Answer(records: [served("a")]) }
        let queue = OperationQueue()
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            queue.addOperation(operation)
        }
        #expect(log.all == ["ok"])
    }

    /// Fails twice, then answers.
    private func flaky(_ slept: Log) -> (CKDatabase, ScriptedTransport) {
        let count = Mutex(0)
        let transport = ScriptedTransport { _, _ in
            let attempt = count.withLock { count in
                count += 1
                return count
            }
            switch attempt {
            case 1: throw TransportError(.refused, "down")
            case 2: throw ServiceFailure(ServiceError(.tryAgainLater, "busy", retryAfterSeconds: 7))
            default: return RecordsLookup.Answer(records: [served("a")])
            }
        }
        return (container(slept: slept, transport).privateCloudDatabase, transport)
    }

    private func runFlaky(_ service: QualityOfService) async -> (Log, Log, ScriptedTransport) {
        let (log, slept) = (Log(), Log())
        let (database, transport) = flaky(slept)
        let operation = fetch(log)
        operation.configuration.qualityOfService = service
        await run(operation, on: database)
        return (log, slept, transport)
    }

    @Test(arguments: [QualityOfService.utility, .background])
    func utilityOperationsRetryTransientErrors(_ service: QualityOfService) async {
        let (log, slept, transport) = await runFlaky(service)
        #expect(log.all == ["ok"])
        #expect(transport.requests.count == 3)
        #expect(slept.all.map { Double($0)?.rounded() } == [1, 7])
    }

    @Test(arguments: [QualityOfService.userInitiated, .userInteractive, .default])
    func userInitiatedOperationsFailAtOnce(_ service: QualityOfService) async {
        let (log, slept, transport) = await runFlaky(service)
        #expect(log.all == ["Optional(StratusRecords.FrameworkErrorCode.networkFailure)"])
        #expect(transport.requests.count == 1 && slept.all.isEmpty)
    }

    @Test func retryAfterBeyondResourceTimeoutFails() async {
        let (log, slept) = (Log(), Log())
        let (database, _) = flaky(slept)
        let operation = fetch(log)
        operation.configuration.qualityOfService = .utility
        operation.configuration.timeoutIntervalForResource = 5
        await run(operation, on: database)
        #expect(log.all == ["Optional(StratusRecords.FrameworkErrorCode.serviceUnavailable)"])
        #expect(slept.all.count == 1)
    }

    @Test func foundationQualityOfServiceEnablesRetries() async {
        let (log, slept) = (Log(), Log())
        let (database, transport) = flaky(slept)
        let operation = fetch(log)
        // The property of Foundation's Operation, as Apple's guides set it.
        operation.qualityOfService = .utility
        await run(operation, on: database)
        #expect(log.all == ["ok"] && transport.requests.count == 3)
    }

    @Test func groupConfigurationFillsUnsetSettings() async {
        let group = CKOperationGroup()
        group.defaultConfiguration.qualityOfService = .default
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        configuration.timeoutIntervalForRequest = 9
        group.defaultConfiguration = configuration
        let (log, slept) = (Log(), Log())
        let (database, transport) = flaky(slept)
        let patient = fetch(log)
        patient.group = group
        await run(patient, on: database)
        #expect(log.all == ["ok"] && transport.timeouts == [9, 9, 9])
        // The operation's own settings take precedence.
        let (own, ownSlept) = (Log(), Log())
        let (other, otherTransport) = flaky(ownSlept)
        let impatient = fetch(own)
        impatient.group = group
        impatient.configuration.qualityOfService = .userInitiated
        impatient.configuration.timeoutIntervalForRequest = 4
        await run(impatient, on: other)
        #expect(own.all == ["Optional(StratusRecords.FrameworkErrorCode.networkFailure)"])
        #expect(otherTransport.timeouts == [4])
    }

    @Test func operationConfigurationHasDefaults() {
        let operation = CKFetchRecordsOperation(recordIDs: [])
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(operation.configuration.timeoutIntervalForResource == 604_800)
        operation.configuration.qualityOfService = .userInitiated
        #expect(operation.configuration.timeoutIntervalForResource == -1)
        operation.configuration = nil
        #expect(operation.configuration.qualityOfService == .default)
        let database = database { _, _ in EmptyBody() }
        operation.database = database
        #expect(
            operation.configuration.container?.containerIdentifier == "iCloud.org.example.Trails")
    }

    @Test func databaseConfigurationFillsUnsetSettings() async throws {
        let (log, slept) = (Log(), Log())
        let (database, transport) = flaky(slept)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        try await database.configuredWith(configuration: configuration) { database in
            _ = try await database.record(for: hut("a").recordID)
        }
        #expect(transport.requests.count == 3)
        await run(fetch(log), on: database)
        #expect(log.all == ["ok"])
    }

    @Test func operationsWithoutArgumentsSendNothing() async {
        let log = Log()
        let save = CKModifyRecordsOperation()
        save.modifyRecordsResultBlock = { log.add("save \((try? $0.get()) != nil)") }
        let query = CKQueryOperation()
        query.queryResultBlock = { log.add("query \("\($0)".contains("query nor cursor"))") }
        let changes = CKFetchRecordZoneChangesOperation()
        changes.fetchRecordZoneChangesResultBlock = { log.add("changes \((try? $0.get()) != nil)") }
        let transport = ScriptedTransport { _, _ in EmptyBody() }
        for operation in [save, query, changes] {
            await run(operation, on: container(transport).privateCloudDatabase)
        }
        #expect(log.all == ["save true", "query true", "changes true"])
        #expect(transport.requests.isEmpty)
        #expect(CKFetchRecordsOperation().recordIDs == nil)
        #expect(CKFetchDatabaseChangesOperation().fetchAllChanges)
        #expect(CKModifyRecordZonesOperation().recordZonesToSave == nil)
        #expect(CKModifySubscriptionsOperation().subscriptionsToSave == nil)
    }

    @Test func databaseWithScopeReturnsSameObject() {
        let container = container(ScriptedTransport { _, _ in EmptyBody() })
        #expect(container.database(with: .shared) === container.sharedCloudDatabase)
        #expect(container.database(with: .private).databaseScope == .private)
    }

    @Test func convenienceCompletionHandlersAreCalled() async {
        let database = database { request, _ in
            if request is RecordsModify.Request { return accept(request) }
            return RecordsLookup.Answer(records: [refused("a", .init(.notFound, "none"))])
        }
        let saved = await withCheckedContinuation { continuation in
            database.save(hut("a")) { record, error in
                continuation.resume(returning: "\(record?.recordChangeTag ?? "-") \(error == nil)")
            }
        }
        #expect(saved == "saved true")
        let fetched = await withCheckedContinuation { continuation in
            database.fetch(withRecordID: hut("a").recordID) { record, error in
                continuation.resume(
                    returning: "\(record == nil) \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        #expect(fetched == "true 11")
    }
}

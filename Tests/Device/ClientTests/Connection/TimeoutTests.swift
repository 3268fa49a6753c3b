import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Testing

/// Time limits of requests and operations, with the test's clock.
@Suite(.timeLimit(.minutes(20)))
struct TimeoutTests {
    private let clock = TestClock()
    private let log = Log()

    /// A service that takes this many seconds for each answer.
    private func container(
        answersAfterSeconds seconds: Double, failing: TransportError? = nil
    ) -> (CKContainer, ScriptedTransport) {
        let clock = clock
        let transport = ScriptedTransport { request, _ in
            try await clock.sleep(seconds: seconds)
            if let failing { throw failing }
            if let request = request as? ChangesDatabase.Request {
                return ChangesDatabase.Answer(
                    zones: [], syncToken: (request.syncToken ?? "") + "t", moreComing: true)
            }
            return RecordsLookup.Answer(records: [served("a")])
        }
        let container = CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone", world: clock.world))
        return (container, transport)
    }

    private func fetch() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [hut("a").recordID])
        let log = log
        operation.fetchRecordsResultBlock = { result in
            switch result {
            case .success: log.add("ok")
            case .failure(let error):
                let error = error as? CKError
                let cause = error?.userInfo[NSUnderlyingErrorKey] as? URLError
                log.add("\(error?.code.rawValue ?? 0) \(cause?.errorCode ?? 0)")
            }
        }
        return operation
    }

    private func ended(_ operation: CKDatabaseOperation, on container: CKContainer) -> Task<
        Void, Never
    > {
        Task { await run(operation, on: container.privateCloudDatabase) }
    }

    @Test("A request times out after 60 seconds")
    func requestTimesOutAfterSixtySeconds() async {
        let (container, _) = container(answersAfterSeconds: 100)
        let end = ended(fetch(), on: container)
        await clock.waitForSleeper(seconds: 100)
        await clock.waitForSleeper(seconds: 60)
        clock.advance(bySeconds: 59)
        #expect(log.all.isEmpty)
        clock.advance(bySeconds: 1)
        await end.value
        #expect(log.all == ["4 \(URLError.Code.timedOut.rawValue)"])
    }

    @Test(
        "A request's timeout comes from its operation, else its group, else its database",
        arguments: 0..<3)
    func requestTimeoutComesFromNearestConfiguration(_ place: Int) async {
        let (container, _) = container(answersAfterSeconds: 100)
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 5
        let operation = fetch()
        var database = container.privateCloudDatabase
        switch place {
        case 0: operation.configuration.timeoutIntervalForRequest = 5
        case 1:
            operation.group = CKOperationGroup()
            operation.group?.defaultConfiguration = configuration
        default: database = database.configuredWith(configuration: configuration) { $0 }
        }
        let chosen = database
        let end = Task { await run(operation, on: chosen) }
        await clock.waitForSleeper(seconds: 5)
        clock.advance(bySeconds: 5)
        await end.value
        #expect(log.all == ["4 \(URLError.Code.timedOut.rawValue)"])
    }

    @Test("The resource timeout covers all pages of an operation")
    func resourceTimeoutCoversAllPages() async {
        let (container, transport) = container(answersAfterSeconds: 4)
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        operation.configuration.timeoutIntervalForResource = 10
        let log = log
        operation.changeTokenUpdatedBlock = { _ in log.add("page") }
        operation.fetchDatabaseChangesResultBlock = { result in
            if case .failure(let error) = result {
                log.add("\((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        let end = ended(operation, on: container)
        for seconds in [10, 6, 2] as [Double] {
            // Each page gets the time that the earlier ones left.
            await clock.waitForSleeper(seconds: seconds)
            await clock.waitForSleeper(seconds: 4)
            clock.advance(bySeconds: min(seconds, 4))
        }
        await end.value
        #expect(log.all == ["page", "page", "4"])
        #expect(transport.requests.count == 3)
    }

    @Test("Retries end with the resource timeout; without one they continue")
    func backgroundRetriesEndWithResourceTimeout() async {
        let (container, transport) = container(
            answersAfterSeconds: 0, failing: TransportError(.refused, "down"))
        let operation = fetch()
        operation.configuration.qualityOfService = .background
        operation.configuration.timeoutIntervalForResource = 1.4
        let end = ended(operation, on: container)
        await clock.waitForSleeper(seconds: 0.5...1)
        clock.advance(bySeconds: 1)
        await end.value
        // A second pause, of one to two seconds, would exceed the limit.
        #expect(log.all == ["4 \(URLError.Code.cannotConnectToHost.rawValue)"])
        #expect(transport.requests.count == 2)
    }

    @Test(
        "The default resource timeout is a week, or none if the user waits; 0 and less are ignored")
    func resourceTimeoutDependsOnQualityOfService() {
        let configuration = CKOperation.Configuration()
        #expect(configuration.timeoutIntervalForResource == 604_800)
        for service in [QualityOfService.userInitiated, .userInteractive] {
            configuration.qualityOfService = service
            #expect(configuration.timeoutIntervalForResource == -1)
        }
        configuration.qualityOfService = .background
        #expect(configuration.timeoutIntervalForResource == 604_800)
        configuration.timeoutIntervalForResource = 7
        #expect(configuration.timeoutIntervalForResource == 7)
        #expect(configuration.timeoutIntervalForRequest == 60)
    }

    @Test("The transfer of an asset ends with the resource timeout")
    func assetTransferEndsWithResourceTimeout() async throws {
        let cloud = TestCloud()
        let scratch = try Scratch()
        let transport = TappedTransport(
            try await cloud.connect(user: "ida", device: "phone").transport)
        let container = CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone", world: clock.world))
        let clock = clock
        transport.tap { $0.upload = { try await clock.sleep(seconds: 1_000_000) } }
        let record = CKRecord(recordType: "Hut")
        record["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 100))
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.timeoutIntervalForResource = 300
        let log = log
        operation.modifyRecordsResultBlock = { result in
            do { try result.get() } catch { log.add("\((error as? CKError)?.code.rawValue ?? 0)") }
        }
        let end = ended(operation, on: container)
        await clock.waitForSleeper(seconds: 1_000_000)
        await clock.waitForSleeper(seconds: 300)
        clock.advance(bySeconds: 300)
        await end.value
        #expect(log.all == ["4"])
    }

    @available(*, deprecated)
    private func useOldNames(
        _ operation: CKOperation, _ container: CKContainer
    ) -> [String] {
        operation.container = container
        operation.timeoutIntervalForRequest = 3
        operation.timeoutIntervalForResource = 9
        operation.isLongLived = false
        return [
            operation.container?.containerIdentifier ?? "",
            "\(operation.timeoutIntervalForRequest)",
            "\(operation.timeoutIntervalForResource)", "\(operation.isLongLived)",
        ]
    }

    @Test("Deprecated timeout properties set the operation's configuration")
    func deprecatedTimeoutPropertiesSetConfiguration() async throws {
        let (container, _) = container(answersAfterSeconds: 100)
        let operation = fetch()
        let old: any OldSettings = self
        #expect(
            old.use(operation, container) == ["iCloud.org.example.Trails", "3.0", "9.0", "false"])
        // On a queue of the app, the operation's container decides where the request goes.
        let end = Task {
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                OperationQueue().addOperation(operation)
            }
        }
        await clock.waitForSleeper(seconds: 3)
        clock.advance(bySeconds: 3)
        await end.value
        #expect(log.all == ["4 \(URLError.Code.timedOut.rawValue)"])
    }
}

/// Code from the time when these settings were properties of the operation.
private protocol OldSettings {
    func use(_ operation: CKOperation, _ container: CKContainer) -> [String]
}

extension TimeoutTests: OldSettings {
    @available(*, deprecated)
    func use(_ operation: CKOperation, _ container: CKContainer) -> [String] {
        useOldNames(operation, container)
    }
}

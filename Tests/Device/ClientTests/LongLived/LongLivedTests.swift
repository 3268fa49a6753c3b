import Foundation
import StratusClient
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Long-lived operations whose process is killed, and which the next process resumes.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct LongLivedTests {
    /// When the process is killed.
    enum Moment: String, CaseIterable, Codable, Sendable {
        /// The operation is stored and not sent.
        case persisted
        /// The service has served the request, and its answer has not arrived.
        case served
        /// The results are reported, and the completion block has not finished.
        case reported
    }

    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test(
        "The next process resumes every kind of operation",
        arguments: LongLivedKind.allCases, Moment.allCases)
    func nextProcessResumesLongLivedOperation(_ kind: LongLivedKind, _ moment: Moment) async throws
    {
        let path: String = scratch.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, kind = kind as LongLivedKind, moment = moment as Moment] in
            try await LongLivedScene.runUntilKilled(kind, in: path) { scene, operation in
                kind.listen(operation, Log())
                switch moment {
                case .persisted:
                    operation.longLivedOperationWasPersistedBlock = {
                        // The files to upload must be in the journal too.
                        try? FileManager.default.removeItem(at: scene.photo)
                        kill(getpid(), SIGKILL)
                    }
                case .served:
                    scene.transport.tap {
                        $0.served = { if $0 == kind.path { kill(getpid(), SIGKILL) } }
                    }
                case .reported: operation.completionBlock = { kill(getpid(), SIGKILL) }
                }
            }
        }
        let scene = try await LongLivedScene(path)
        let ids = try await scene.container.allLongLivedOperationIDs()
        let id = try #require(ids.first)
        #expect(ids.count == 1)
        let operation = try #require(try await scene.container.longLivedOperation(for: id))
        #expect(operation.operationID == id && operation.configuration.isLongLived)
        let log = Log()
        operation.longLivedOperationWasPersistedBlock = { log.add("persisted again") }
        kind.listen(operation, log)
        await run(operation, on: scene.container)
        #expect(log.all == kind.reported)
        #expect(scene.transport.sent.all.contains(kind.path) == (moment != .reported))
        await scene.waitUntilForgotten()
        try await kind.check(scene)
    }

    @Test("The files of fetched assets are kept with the outcome")
    func fetchedAssetFilesAreKeptWithOutcome() async throws {
        let path: String = scratch.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await LongLivedScene.runUntilKilled(.fetchRecords, in: path) { _, operation in
                operation.completionBlock = { kill(getpid(), SIGKILL) }
            }
        }
        let scene = try await LongLivedScene(path)
        let id = try #require(try await scene.container.allLongLivedOperationIDs().first)
        let fetched = try await scene.container.longLivedOperation(for: id)
        let operation = try #require(fetched as? CKFetchRecordsOperation)
        let log = Log()
        operation.perRecordResultBlock = { recordID, result in
            let asset = (try? result.get())?["photo"] as? CKAsset
            // Without the file nothing is logged, and the expectation below fails.
            guard let url = asset?.fileURL, let data = try? Data(contentsOf: url) else { return }
            log.add("\(recordID.recordName) \([UInt8](data) == content(3_000))")
        }
        await run(operation, on: scene.container)
        #expect(log.all == ["seen true"])
        #expect(scene.transport.counts.downloads == 0)
    }

    @Test("An operation is listed while it runs, and reports its outcome once")
    func runningLongLivedOperationIsListedUntilItEnds() async throws {
        let scene = try await LongLivedScene(scratch.folder.path)
        try await scene.prepare()
        let (log, container) = (Log(), scene.container)
        let operation = scene.operation(.modifyRecords)
        operation.configuration.isLongLived = true
        operation.longLivedOperationWasPersistedBlock = { log.add("persisted") }
        LongLivedKind.modifyRecords.listen(operation, log)
        let id = operation.operationID
        scene.transport.tap {
            $0.served = { path in
                guard path == "records/modify" else { return }
                let ids = try await container.allLongLivedOperationIDs()
                log.add("listed \(ids == [id])")
                // A running operation is not returned.
                log.add("free \(try await container.longLivedOperation(for: id) != nil)")
            }
        }
        await run(operation, on: container)
        #expect(
            log.all == ["persisted", "listed true", "free false"]
                + LongLivedKind.modifyRecords.reported)
        await scene.waitUntilForgotten()
        #expect(try await container.longLivedOperation(for: id) == nil)
    }

    @Test("An operation that is cancelled at any time is forgotten")
    func cancelledLongLivedOperationIsForgotten() async throws {
        let scene = try await LongLivedScene(scratch.folder.path)
        let operation = try await scene.prepared(.modifyRecords)
        scene.transport.tap { $0.served = { if $0 == "records/modify" { operation.cancel() } } }
        await run(operation, on: scene.container)
        #expect(try await scene.container.allLongLivedOperationIDs() == [])
    }

    @Test("A resumed operation that is cancelled before its start is forgotten")
    func resumedOperationCancelledBeforeStartIsForgotten() async throws {
        await leave(.fetchZones)
        let scene = try await LongLivedScene(scratch.folder.path)
        let again = try await scene.resumed()
        again.cancel()
        await run(again, on: scene.container)
        #expect(try await scene.container.allLongLivedOperationIDs() == [])
    }

    /// Leaves an operation in the folder as a killed process would.
    private func leave(_ kind: LongLivedKind, _ moment: Moment = .persisted) async {
        let path: String = scratch.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, kind = kind as LongLivedKind, moment = moment as Moment] in
            try await LongLivedScene.runUntilKilled(kind, in: path) { _, operation in
                if moment == .persisted {
                    operation.longLivedOperationWasPersistedBlock = { kill(getpid(), SIGKILL) }
                } else {
                    operation.completionBlock = { kill(getpid(), SIGKILL) }
                }
            }
        }
    }

    /// Resumes the operation of an earlier process, and expects the reports that it would have got.
    private func expectReported(
        _ kind: LongLivedKind, resumedIn scene: LongLivedScene
    ) async throws {
        let operation = try await scene.resumed()
        let log = Log()
        kind.listen(operation, log)
        await run(operation, on: scene.container)
        #expect(log.all == kind.reported)
    }

    /// The error code of a save that must not reach the service.
    private func outcome(
        of operation: CKOperation, unsentIn scene: LongLivedScene
    ) async -> Int? {
        let codes = Kept<Int>()
        (operation as? CKModifyRecordsOperation)?.modifyRecordsResultBlock = { result in
            do { try result.get() } catch { codes.add((error as? CKError)?.code.rawValue ?? 0) }
        }
        await run(operation, on: scene.container)
        #expect(!scene.transport.sent.all.contains("records/modify"))
        #expect(codes.all.count == 1)
        return codes.all.first
    }

    /// The next process, and its clock.
    private func sceneAfter(
        _ kind: LongLivedKind, _ moment: Moment = .persisted
    ) async throws -> (LongLivedScene, TestClock) {
        await leave(kind, moment)
        let clock = TestClock(start: Date())
        return (try await LongLivedScene(scratch.folder.path, world: clock.world), clock)
    }

    @Test("Operations of another user are neither listed nor sent")
    func longLivedOperationIsHiddenFromOtherUser() async throws {
        await leave(.modifyRecords)
        let scene = try await LongLivedScene(scratch.folder.path)
        let container = scene.container
        let id = try #require(try await container.allLongLivedOperationIDs().first)
        let operation = try #require(try await container.longLivedOperation(for: id))
        try await scene.cloud.signIn("bo", on: container.connection)
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(try await container.longLivedOperation(for: id) == nil)
        #expect(await outcome(of: operation, unsentIn: scene) == 9)
        try await scene.cloud.signIn("ida", on: container.connection)
        #expect(try await container.allLongLivedOperationIDs() == [id])
    }

    @Test("A resumed operation keeps the device ID of its first process")
    func resumedOperationKeepsFirstDeviceID() async throws {
        let path: String = scratch.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await LongLivedScene.runUntilKilled(
                .modifyRecords, in: path, device: "first"
            ) { scene, _ in
                scene.transport.tap {
                    $0.served = { if $0 == "records/modify" { kill(getpid(), SIGKILL) } }
                }
            }
        }
        let scene = try await LongLivedScene(path, device: "second")
        try await expectReported(.modifyRecords, resumedIn: scene)
    }

    @Test("Outcomes are kept for a day")
    func outcomesExpireAfterOneDay() async throws {
        let (scene, clock) = try await sceneAfter(.fetchZones, .reported)
        #expect(try await scene.container.allLongLivedOperationIDs().count == 1)
        clock.advance(bySeconds: 86_000)
        #expect(try await scene.container.allLongLivedOperationIDs().count == 1)
        clock.advance(bySeconds: 1_000)
        #expect(try await scene.container.allLongLivedOperationIDs() == [])
        #expect(scene.journals.isEmpty)
    }

    @Test("An unfinished save is not sent again after six days")
    func unfinishedSaveIsNotSentAfterSixDays() async throws {
        let (scene, clock) = try await sceneAfter(.modifyRecords)
        clock.advance(bySeconds: 6 * 86_400)
        let operation = try await scene.resumed()
        #expect(await outcome(of: operation, unsentIn: scene) == 34)
        #expect(try await scene.container.allLongLivedOperationIDs() == [])
    }

    @Test("A save whose outcome is damaged is not sent again after six days")
    func saveWithDamagedOutcomeIsNotSentAfterSixDays() async throws {
        let (scene, clock) = try await sceneAfter(.modifyRecords, .reported)
        let operation = try await scene.resumed()
        let folder = try #require(scene.journals.first)
        try Data().write(to: folder.appendingPathComponent("outcome"))
        clock.advance(bySeconds: 6 * 86_400)
        #expect(await outcome(of: operation, unsentIn: scene) == 34)
        #expect(scene.journals.isEmpty)
    }

    @Test("An unfinished fetch is repeated at any age")
    func unfinishedFetchIsRepeatedAtAnyAge() async throws {
        let (scene, clock) = try await sceneAfter(.fetchZones)
        clock.advance(bySeconds: 20 * 86_400)
        try await expectReported(.fetchZones, resumedIn: scene)
    }

    @Test("An operation that is not resumed is removed after thirty days")
    func abandonedOperationIsRemovedAfterThirtyDays() async throws {
        let (scene, clock) = try await sceneAfter(.fetchZones)
        clock.advance(bySeconds: 29 * 86_400)
        #expect(try await scene.container.allLongLivedOperationIDs().count == 1)
        clock.advance(bySeconds: 2 * 86_400)
        #expect(try await scene.container.allLongLivedOperationIDs() == [])
        #expect(scene.journals.isEmpty)
    }

    @Test(
        "Damaged and foreign files are skipped", arguments: ["description", "outcome", "end"])
    func damagedJournalFileIsSkipped(_ name: String) async throws {
        await leave(.fetchRecords, .reported)
        let scene = try await LongLivedScene(scratch.folder.path)
        let folder = try #require(scene.journals.first)
        let file = folder.appendingPathComponent(name)
        let whole = try Data(contentsOf: file)
        var broken = whole
        broken[whole.count - 5] ^= 1
        let junk = Data("stratus-operation-1\n".utf8) + Data(repeating: 0xff, count: 60)
        for bytes in [broken, whole.dropLast(1), junk, Data(), Data("hello".utf8)] {
            try bytes.write(to: file)
            let ids = try await scene.container.allLongLivedOperationIDs()
            #expect(ids.count == (name == "description" ? 0 : 1))
            if name == "description" {
                let id = folder.lastPathComponent
                #expect(try await scene.container.longLivedOperation(for: id) == nil)
            }
        }
        try Data("x".utf8).write(
            to: folder.deletingLastPathComponent().appendingPathComponent("notes.txt"))
        if name == "description" { return }
        // Without a complete outcome the operation runs again.
        let operation = try await scene.resumed()
        let log = Log()
        LongLivedKind.fetchRecords.listen(operation, log)
        await run(operation, on: scene.container)
        #expect(log.all == LongLivedKind.fetchRecords.reported)
        #expect(scene.transport.sent.all.contains("records/lookup"))
    }

    @Test("With an unwritable folder it runs as an ordinary operation")
    func unwritableFolderRunsOrdinaryOperation() async throws {
        try Data().write(to: scratch.folder.appendingPathComponent("operations"))
        let scene = try await LongLivedScene(scratch.folder.path)
        let operation = try await scene.prepared(.modifyRecords)
        let log = Log()
        operation.longLivedOperationWasPersistedBlock = { log.add("persisted") }
        LongLivedKind.modifyRecords.listen(operation, log)
        await run(operation, on: scene.container)
        #expect(log.all == LongLivedKind.modifyRecords.reported)
    }

    @Test("A folder that cannot be read is an error, not an empty list")
    func unreadableFolderFailsListOfOperations() async throws {
        let scene = try await LongLivedScene(scratch.folder.path)
        let operation = try await scene.prepared(.modifyRecords)
        let log = Log()
        operation.longLivedOperationWasPersistedBlock = { log.add("persisted") }
        await run(operation, on: scene.container)
        #expect(log.all == ["persisted"])
        // The journal is removed after the completion block.
        while try await !scene.container.allLongLivedOperationIDs().isEmpty { await Task.yield() }
        let root = scratch.folder.appendingPathComponent("operations")
        for account in try FileManager.default.contentsOfDirectory(atPath: root.path) {
            let folder = root.appendingPathComponent(account)
            try FileManager.default.removeItem(at: folder)
            try Data().write(to: folder)
        }
        await #expect(throws: CKError.self) {
            try await scene.container.allLongLivedOperationIDs()
        }
    }

    @Test("A test's cloud keeps the operations of its devices until it is released")
    func testCloudKeepsOperationFolderUntilReleased() async throws {
        let folder: URL
        do {
            let cloud = TestCloud()
            folder = cloud.operationFolder
            let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
            let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            operation.configuration.isLongLived = true
            let log = Log()
            operation.longLivedOperationWasPersistedBlock = {
                log.add("\(FileManager.default.fileExists(atPath: folder.path))")
            }
            operation.database = phone.privateCloudDatabase
            await run(operation, on: phone)
            #expect(log.all == ["true"])
            // The journal is removed after the completion block.
            while try await !phone.allLongLivedOperationIDs().isEmpty { await Task.yield() }
            try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Later"))
            withExtendedLifetime(cloud) {}
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("The setting comes from the operation, else from its group")
    func longLivedSettingComesFromOperationThenGroup() async throws {
        let scene = try await LongLivedScene(scratch.folder.path)
        let lasting = CKOperation.Configuration()
        lasting.isLongLived = true
        let group = CKOperationGroup()
        group.defaultConfiguration = lasting
        let log = Log()
        for own in [nil, false, true] as [Bool?] {
            let operation = scene.operation(.fetchZones)
            operation.group = own == true ? nil : group
            if let own { operation.configuration.isLongLived = own }
            operation.longLivedOperationWasPersistedBlock = {
                log.add(own.map { "\($0)" } ?? "group")
            }
            await run(operation, on: scene.container)
        }
        #expect(log.all == ["group", "true"])
    }
}

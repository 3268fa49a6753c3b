import Foundation
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

/// Every CloudKit error, as the answer to each kind of request of an engine.
@Suite struct EngineErrorTests {
    /// Errors after which the engine retries by itself. Source: Apple's header of CKSyncEngine; its sample adds
    /// `operationCancelled`; `serverResponseLost` is an addition of this project, see decision 0011.
    private static let retried: Set<CKError.Code> = [
        .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
        .requestRateLimited, .serviceUnavailable, .zoneBusy, .operationCancelled,
        .serverResponseLost,
    ]
    private static let codes = (1...50).compactMap { CKError.Code(rawValue: $0) }

    private func answer(_ code: CKError.Code) -> CloudFaults.Effect {
        .answer(.badRequest, frameworkCode: code)
    }

    @Test func errorCodeListIsComplete() {
        #expect(Self.codes.count == 37)
    }

    @Test(arguments: codes) func failedRecordRequestIsReportedOrRetried(_ code: CKError.Code)
        async throws
    {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.resolveNothing()
        phone.write("a", "2")
        phone.erase("b")
        world.cloud.faults.next(of: RecordsModify.self, answer(code))
        // A batch that is too large is halved, and the app gets no error.
        let isHalved = code == .limitExceeded
        #expect(await codeOf { try await phone.engine.sendChanges() } == (isHalved ? nil : code))
        let lines = phone.takeLog()
        #expect(lines.first == "willSend manual" && lines.last == "didSend manual")
        guard !isHalved else {
            return #expect(lines.count == 4 && lines[1] == "sent +a" && lines[2] == "sent -b")
        }
        #expect(lines.count == 3 && lines[1] == "sent +a!\(code) -b!\(code)")
        let stays = Self.retried.contains(code)
        #expect(phone.engine.state.pendingRecordZoneChanges.count == (stays ? 2 : 0))
        // Nothing was saved and nothing is lost: the app retries what the engine does not.
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1"])
        if !stays { phone.write("a", "2") }
        try await phone.engine.sendChanges()
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "2"])
    }

    @Test(arguments: codes) func failedZoneRequestIsReportedOrRetried(_ code: CKError.Code)
        async throws
    {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        let trails = CKRecordZone(zoneName: "Trails")
        phone.engine.state.add(
            pendingDatabaseChanges: [.saveZone(trails), .deleteZone(hutsID)])
        world.cloud.faults.next(of: ZonesModify.self, answer(code))
        #expect(await codeOf { try await phone.engine.sendChanges() } == code)
        #expect(
            phone.takeLog() == [
                "willSend manual", "sentZones +Trails!\(code) -Huts!\(code)", "didSend manual",
            ])
        let stays = Self.retried.contains(code)
        #expect(phone.engine.state.pendingDatabaseChanges.count == (stays ? 2 : 0))
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1"])
        try await phone.engine.sendChanges()
        #expect(phone.takeLog().isEmpty != stays)
    }

    /// The call of a failed fetch throws, and the next fetch returns everything.
    @Test(arguments: codes) func failedFetchIsReportedAndRepeated(_ code: CKError.Code) async throws
    {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("a", "2")
        try await phone.engine.sendChanges()
        // After an expired token the engine fetches again at once.
        let isRefetched = code == .changeTokenExpired
        world.cloud.faults.next(of: ChangesDatabase.self, answer(code))
        #expect(
            await codeOf { try await tablet.engine.fetchChanges() } == (isRefetched ? nil : code))
        if !isRefetched {
            #expect(tablet.takeLog() == ["willFetch manual", "didFetch manual"])
            world.cloud.faults.next(of: ChangesZone.self, answer(code))
            let outcome = await codeOf { try await tablet.engine.fetchChanges() }
            switch code {
            // Deleted zones are reported with the database's changes, and here no zone was deleted.
            case .zoneNotFound, .userDeletedZone:
                #expect(outcome == nil)
                phone.write("b", "1")
                try await phone.engine.sendChanges()
            case _ where Self.retried.contains(code): #expect(outcome == code)
            case .limitExceeded: #expect(outcome == code)
            default: #expect(outcome == .partialFailure)
            }
            #expect(tablet.takeLog().contains("didFetch Huts!\(code)"))
            try await tablet.engine.fetchChanges()
        }
        #expect(tablet.texts["a"] == "2")
        #expect(tablet.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    /// Rate limits can apply to single records too.
    @Test func throttledRecordOfBatchStaysPending() async throws {
        let (phone, app) = try await SwitchableDevice.sentAndReceived()
        app.write("a", "1")
        app.write("b", "1")
        phone.transport.alterNextResults { results in
            results[1] = .failure(
                RecordFailure(
                    recordName: "b", error: ServiceError(.throttled, "Wait.", retryAfterSeconds: 9))
            )
        }
        do {
            try await app.engine.sendChanges()
            Issue.record("A send with a failed change did not throw.")
        } catch let error as CKError {
            #expect(error.errorsByRecordID.mapValues(\.code) == [hut("b"): .requestRateLimited])
            #expect(error.longestRetryAfterSeconds == 9)
        }
        #expect(
            app.takeLog() == [
                "willSend manual", "sent +a +b!requestRateLimited", "didSend manual",
            ])
        #expect(app.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("b"))])
    }

    /// The protocol's error codes, the CloudKit errors that they become, and whether the engine retries.
    @Test(arguments: [
        (ServiceError.Code.throttled, CKError.Code.requestRateLimited, true),
        (.tryAgainLater, .serviceUnavailable, true), (.zoneBusy, .zoneBusy, true),
        (.authenticationFailed, .notAuthenticated, true),
        (.accessDenied, .permissionFailure, false), (.quotaExceeded, .quotaExceeded, false),
        (.internalError, .serverRejectedRequest, false), (.badRequest, .invalidArguments, false),
    ])
    func serviceErrorDecidesWhetherChangeStaysPending(
        _ code: ServiceError.Code, _ expected: CKError.Code, _ staysPending: Bool
    ) async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        phone.resolveNothing()
        phone.write("a", "2")
        world.cloud.faults.next(of: RecordsModify.self, .answer(code))
        #expect(await codeOf { try await phone.engine.sendChanges() } == expected)
        #expect(phone.takeLog() == ["willSend manual", "sent +a!\(expected)", "didSend manual"])
        #expect(phone.engine.state.pendingRecordZoneChanges.count == (staysPending ? 1 : 0))
    }
}

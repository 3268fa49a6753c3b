import Foundation
import HTTPTypes
import Hummingbird
import Logging
import StratusClient
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import StratusWire
import TestServing
import Testing

/// The client over HTTP: against the real server, and against one with unusual answers.
@Suite struct HTTPTransportTests {
    private func connection(
        _ port: Int, user: String? = "ida", device: String = "phone", token: String? = nil
    ) throws -> CloudConnection {
        var variables = ["STRATUS_URL": "http://127.0.0.1:\(port)/", "STRATUS_DEVICE_ID": device]
        variables["STRATUS_DEV_USER"] = user
        variables["STRATUS_WEB_AUTH_TOKEN"] = token
        return CloudConnection(environmentVariables: variables)
    }

    private func container(_ connection: CloudConnection) -> CKContainer {
        CKContainer(identifier: "iCloud.org.example.Trails", connection: connection)
    }

    private func withService(
        _ settings: ServiceSettings = ServiceSettings(isForDevelopment: true),
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        try await withServer(
            CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings), body)
    }

    @Test func savedRecordReachesOtherDeviceOverHTTP() async throws {
        try await withService { port in
            let phone = self.container(try self.connection(port)).privateCloudDatabase
            let tablet = self.container(try self.connection(port, device: "tablet"))
            #expect(try await tablet.accountStatus() == .available)
            let userID = try await tablet.userRecordID()
            #expect(userID.recordName.hasPrefix("_"))
            try await phone.save(CKRecordZone(zoneID: trips))
            let subscription = CKDatabaseSubscription(subscriptionID: "all")
            subscription.notificationInfo = .init(shouldSendContentAvailable: true)
            try await tablet.privateCloudDatabase.save(subscription)
            var events = tablet.connection
                .remoteNotifications(container: "iCloud.org.example.Trails").makeAsyncIterator()
            guard case .listening = await events.next() else { throw CancellationError() }

            let record = hut("a")
            record["name"] = "Gipfelblick"
            record["beds"] = 24
            record["tags"] = ["x", "y"]
            record["at"] = Date(timeIntervalSince1970: 1.5)
            record["spot"] = CLLocation(latitude: 47, longitude: 11)
            record["trail"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "t", zoneID: trips), action: .none)
            try await phone.save(record)
            #expect(record.recordChangeTag != nil && record.changedKeys().isEmpty)

            guard case .notification(let hint) = await events.next() else {
                throw CancellationError()
            }
            let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
            #expect(notification is CKDatabaseNotification)
            #expect(notification?.subscriptionID == "all")

            let database = tablet.privateCloudDatabase
            let changed = try await database.databaseChanges(since: nil)
            #expect(changed.modifications.map(\.zoneID) == [trips])
            let changes = try await database.recordZoneChanges(inZoneWith: trips, since: nil)
            let seen = try #require(
                try changes.modificationResultsByID[record.recordID]?.get().record)
            for key in record.allKeys() where key != "spot" {
                #expect(seen[key] as? NSObject == record[key] as? NSObject, "\(key)")
            }
            #expect((seen["spot"] as? CLLocation)?.coordinate.latitude == 47)
            #expect(seen == record)

            let query = CKQuery(
                recordType: "Hut", predicate: NSPredicate(format: "beds > 3 AND tags CONTAINS 'x'"))
            let matches = try await database.records(matching: query, inZoneWith: trips)
            #expect(matches.matchResults.map(\.0) == [record.recordID])
        }
    }

    @Test func assetsUploadAndDownloadOverHTTP() async throws {
        var settings = ServiceSettings(isForDevelopment: true)
        settings.limits.assetBytes = 3_000_000
        try await withService(settings) { port in
            let scratch = try Scratch()
            let phone = self.container(try self.connection(port)).privateCloudDatabase
            let tablet = self.container(try self.connection(port, device: "tablet"))
            try await phone.save(CKRecordZone(zoneID: trips))
            let record = hut("a")
            let sizes = [0, 1, 700_000, 3_000_000]
            record["photos"] = try sizes.enumerated().map { index, size in
                CKAsset(
                    fileURL: try scratch.file("photo-\(index)", bytes: size, seed: UInt8(index)))
            }
            try await phone.save(record)
            let read = try await tablet.privateCloudDatabase.record(for: record.recordID)
            let photos = try #require(read["photos"] as? [CKAsset])
            for (index, size) in sizes.enumerated() {
                let data = try Data(contentsOf: try #require(photos[index].fileURL))
                #expect([UInt8](data) == content(size, seed: UInt8(index)))
            }
            record["photos"] = [CKAsset(fileURL: try scratch.file("large", bytes: 3_000_001))]
            await #expect(throws: CKError(.limitExceeded)) { try await phone.save(record) }
        }
    }

    @Test func stalledDownloadTimesOut() async throws {
        let (gate, opened) = AsyncStream<Void>.makeStream()
        let page = everyRequest { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "beginning"))
                    for await _ in gate {}
                    try await writer.finish(nil)
                })
        }
        try await withServer(
            page,
            { port in
                defer { opened.finish() }
                let transport = try #require(
                    HTTPTransport(
                        origin: "http://127.0.0.1:\(port)",
                        credentials: .init(apiToken: "development"), deviceID: "phone"))
                let error = await #expect(throws: TransportError.self) {
                    try await transport.download(from: "/assets/get/a", timeoutSeconds: 0.2) { _ in
                    }
                }
                #expect(error?.code == .timedOut)
                let missing = await #expect(throws: (any Error).self) {
                    try await transport.download(from: "/assets/get/b", timeoutSeconds: 5) { _ in }
                }
                #expect(missing is TransportError)
            })
    }

    @Test func conflictAndDeletionErrorsArriveOverHTTP() async throws {
        try await withService { port in
            let database = self.container(try self.connection(port)).privateCloudDatabase
            let missing = await #expect(throws: CKError.self) { try await database.save(hut("a")) }
            #expect(missing?.code == .zoneNotFound)
            try await database.save(CKRecordZone(zoneID: trips))
            let mine = hut("a")
            mine["name"] = "first"
            try await database.save(mine)
            let stale = try await database.record(for: mine.recordID)
            mine["name"] = "second"
            try await database.save(mine)
            stale["name"] = "late"
            let conflict = await #expect(throws: CKError.self) { try await database.save(stale) }
            #expect(conflict?.code == .serverRecordChanged)
            #expect(conflict?.serverRecord?["name"] as? String == "second")
            #expect(conflict?.ancestorRecord?["name"] as? String == "first")
            #expect(conflict?.clientRecord === stale)
            // A client that kept only the system fields gets the ancestor from the service.
            let archive = try NSKeyedUnarchiver(forReadingFrom: Self.systemFields(of: stale))
            let bare = try #require(CKRecord(coder: archive))
            #expect(bare["name"] == nil)
            bare["name"] = "bare"
            let known = await #expect(throws: CKError.self) { try await database.save(bare) }
            #expect(known?.ancestorRecord?["name"] as? String == "first")
            #expect(known?.ancestorRecord?.recordChangeTag == stale.recordChangeTag)
            let again = await #expect(throws: CKError.self) { try await database.save(hut("a")) }
            #expect(again?.code == .serverRecordChanged)
            #expect(again?.serverRecord?["name"] as? String == "second")

            let outcome = try await database.modifyRecords(
                saving: [stale, hut("b")], deleting: [])
            let codes = outcome.saveResults.mapValues { result -> CKError.Code? in
                if case .failure(let error as CKError) = result { error.code } else { nil }
            }
            #expect(codes[stale.recordID] == .serverRecordChanged)
            #expect(codes[hut("b").recordID] == .batchRequestFailed)

            stale["name"] = "forced"
            _ = try await database.modifyRecords(
                saving: [stale], deleting: [], savePolicy: .changedKeys
            ).saveResults[stale.recordID]?.get()
            #expect(
                try await database.record(for: stale.recordID)["name"] as? String == "forced")
            try await database.deleteRecord(withID: stale.recordID)
            await #expect(throws: CKError(.unknownItem)) {
                try await database.record(for: stale.recordID)
            }
            stale["name"] = "revived"
            await #expect(throws: CKError(.unknownItem)) { try await database.save(stale) }
            let many = (0...400).map { hut("many-\($0)") }
            await #expect(throws: CKError(.limitExceeded)) {
                try await database.modifyRecords(saving: many, deleting: [])
            }
            await #expect(throws: CKError(.changeTokenExpired)) {
                let reader = try NSKeyedUnarchiver(forReadingFrom: Self.forgedToken())
                _ = try await database.recordZoneChanges(
                    inZoneWith: trips, since: CKServerChangeToken(coder: reader))
            }
        }
    }

    private static func systemFields(of record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private static func forgedToken() -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        coder.encode("Zm9yZ2Vk" as NSString, forKey: "text")
        coder.finishEncoding()
        return coder.encodedData
    }

    @Test func publicDatabaseIsReadOnlyWithoutAccount() async throws {
        try await withService { port in
            let writer = self.container(try self.connection(port)).publicCloudDatabase
            let record = CKRecord(recordType: "News")
            record["text"] = "hello"
            try await writer.save(record)
            let reader = self.container(try self.connection(port, user: nil))
            let read = try await reader.publicCloudDatabase.record(for: record.recordID)
            #expect(read["text"] as? String == "hello")
            await #expect(throws: CKError(.notAuthenticated)) {
                try await reader.publicCloudDatabase.save(CKRecord(recordType: "News"))
            }
        }
    }

    @Test func refusedTokenLeadsToOneSignIn() async throws {
        try await withService { port in
            let connection = try self.connection(port, token: "worthless")
            let database = self.container(connection).privateCloudDatabase
            async let first = database.allRecordZones()
            async let second = database.allRecordZones()
            #expect(try await first.count == 1)
            #expect(try await second.count == 1)
            let stranger = try self.connection(port, user: nil, token: "worthless")
            await #expect(throws: CKError(.notAuthenticated)) {
                try await self.container(stranger).privateCloudDatabase.allRecordZones()
            }
            #expect(try await self.container(stranger).accountStatus() == .temporarilyUnavailable)
        }
    }

    // MARK: A server with unusual answers

    private func answering(
        _ status: HTTPResponse.Status, _ body: String, _ headers: HTTPFields = [:],
        log: Log = Log()
    ) -> Router<BasicRequestContext> {
        everyRequest { request in
            log.add("\(request.method) \(request.uri.string)")
            return Response(
                status: status, headers: headers, body: .init(byteBuffer: .init(string: body)))
        }
    }

    @Test(arguments: [
        (503, "<html>", CKError.Code.serviceUnavailable), (502, "", .serviceUnavailable),
        (429, "busy", .requestRateLimited), (413, "large", .limitExceeded),
        (200, "no json", .serverRejectedRequest), (200, #"{"zones":7}"#, .serverRejectedRequest),
        (500, #"{"serverErrorCode":"INTERNAL_ERROR","reason":"x"}"#, .serverRejectedRequest),
        (503, #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"x"}"#, .serviceUnavailable),
    ])
    func unexpectedAnswerGivesErrorCode(_ status: Int, _ body: String, _ expected: CKError.Code)
        async throws
    {
        let headers: HTTPFields = [.retryAfter: "4"]
        try await withServer(answering(.init(code: status), body, headers)) { port in
            let connection = try self.connection(port, user: nil, token: "t")
            let error = await #expect(throws: CKError.self) {
                try await self.container(connection).privateCloudDatabase.allRecordZones()
            }
            #expect(error?.code == expected)
            // The retry-after is read from a proxy's answer as well as from the service's.
            #expect(error?.retryAfterSeconds == (status < 300 ? nil : 4))
        }
    }

    @Test func webAuthTokenRotatesInRequestURL() async throws {
        let log = Log()
        var headers = HTTPFields()
        headers[try #require(HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token"))] = "next=="
        try await withServer(answering(.ok, #"{"zones":[]}"#, headers, log: log)) { port in
            let connection = try self.connection(port, user: nil, device: "my phone", token: "a+/=")
            let container = self.container(connection)
            _ = try await container.sharedCloudDatabase.allRecordZones()
            _ = try await container.sharedCloudDatabase.allRecordZones()
        }
        let path = "GET /database/1/iCloud.org.example.Trails/development/shared/zones/list"
        #expect(
            log.all == [
                "\(path)?ckAPIToken=development&ckWebAuthToken=a%2B%2F%3D&clientId=my%20phone"
                    + "&stratusExtensions=1",
                "\(path)?ckAPIToken=development&ckWebAuthToken=next%3D%3D&clientId=my%20phone"
                    + "&stratusExtensions=1",
            ])
    }

    @Test func refusedConnectionIsNetworkFailure() async throws {
        // Nothing listens on port 1, and no test gets a port below 1,024.
        let connection = try connection(1, user: nil, token: "t")
        await #expect(throws: CKError(.networkFailure)) {
            try await container(connection).privateCloudDatabase.allRecordZones()
        }
        #expect(try await container(connection).accountStatus() == .available)
    }

    @Test func missingAnswerTimesOutAsNetworkFailure() async throws {
        let silence = everyRequest { _ in
            try await Task.sleep(for: .seconds(3_600))
            return Response(status: .ok)
        }
        try await withServer(
            silence,
            { port in
                let connection = try self.connection(port, user: nil, token: "t")
                let configuration = CKOperation.Configuration()
                configuration.timeoutIntervalForRequest = 0.1
                await #expect(throws: CKError(.networkFailure)) {
                    try await self.container(connection).privateCloudDatabase
                        .configuredWith(configuration: configuration) {
                            try await $0.allRecordZones()
                        }
                }
            })
    }

    @Test(arguments: ["", "ftp://x", "nonsense", "http://"])
    func invalidServiceURLIsBadContainer(_ address: String) async {
        let connection = CloudConnection(environmentVariables: ["STRATUS_URL": address])
        let error = await #expect(throws: CKError.self) {
            _ = try await container(connection).publicCloudDatabase.allRecordZones()
        }
        #expect(error?.code == .badContainer)
        #expect(error?.localizedDescription.contains("STRATUS_URL") == true)
    }
}

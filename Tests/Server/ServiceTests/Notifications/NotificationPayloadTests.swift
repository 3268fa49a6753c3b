import StratusRecords
import StratusService
import StratusWire
import Testing

/// What a notification contains, and which changes cause one.
@Suite struct NotificationPayloadTests {
    typealias Make = SubscriptionsTests

    private func listening(
        _ subscriptions: [SubscriptionDictionary], zones: [String] = []
    ) async throws -> (phone: Person, token: String) {
        let phone = try await World().person("alice")
        let token = try await phone.at("tablet").listen()
        for zone in zones { try await phone.makeZone(zone) }
        for result in try await phone.subscribe(subscriptions) {
            #expect(result.failure == nil)
        }
        return (phone, token)
    }

    // MARK: Which changes

    /// The filter is compared with the record after an update, and before a deletion.
    @Test func updateFiresWhenRecordMatchesAfterwards() async throws {
        let (phone, token) = try await listening([
            Make.query(
                "big", on: [.create, .update, .delete],
                filters: [.init(.greaterThan, .user("beds"), .int64(10))])
        ])
        func received(_ operation: RecordsModify.Operation) async throws -> [Int?] {
            try await phone.modify([operation])
            return try await phone.received(token).map { payload in
                if case .query(_, let reason, _, _) = payload.cause {
                    reason?.rawValue
                } else {
                    nil
                }
            }
        }
        #expect(try await received(hut(.create, "hut", [beds(5)])) == [])
        #expect(try await received(hut(.forceUpdate, "hut", [beds(20)])) == [2])
        #expect(try await received(hut(.forceUpdate, "hut", [beds(30)])) == [2])
        #expect(try await received(hut(.forceUpdate, "hut", [beds(3)])) == [])
        #expect(try await received(hut(.forceDelete, "hut")) == [])
        #expect(try await received(hut(.create, "other", [beds(11)])) == [1])
        #expect(try await received(hut(.forceDelete, "other")) == [3])
    }

    @Test func recordTypeFiltersDatabaseAndZoneSubscriptions() async throws {
        var zone = Make.zone("z", "Trips")
        zone.recordType = "Trail"
        var database = Make.database("d")
        database.recordType = "Trail"
        let (phone, token) = try await listening([zone, database], zones: ["Trips"])
        try await phone.modify([hut(.create, "hut")], in: "Trips")
        #expect(try await phone.received(token).isEmpty)
        try await phone.modify(
            [hut(.create, "hut2"), hut(.create, "t", type: "Trail")], in: "Trips")
        #expect(try await phone.received(token).map(\.subscriptionID).sorted() == ["d", "z"])
        try await phone.modify([hut(.forceDelete, "hut")], in: "Trips")
        #expect(try await phone.received(token).isEmpty)
        try await phone.modify([hut(.forceDelete, "t", type: nil)], in: "Trips")
        #expect(try await phone.received(token).map(\.subscriptionID).sorted() == ["d", "z"])
        // Deleting the zone deletes its records of all types.
        try await phone.deleteZone("Trips")
        #expect(try await phone.received(token).map(\.subscriptionID).sorted() == ["d", "z"])
        try await phone.makeZone("Trips")
        #expect(try await phone.received(token).isEmpty)
    }

    @Test func querySubscriptionCoversOneZoneOrAll() async throws {
        var one = Make.query("one")
        one.zoneID = zone("A")
        var all = Make.query("all", on: [.create, .update])
        all.zoneID = zone("A")
        all.isZoneWide = true
        var byDefault = Make.query("default", on: [.create, .delete])
        byDefault.isZoneWide = nil
        var defaultZone = Make.query("here", on: [.create, .update, .delete])
        defaultZone.isZoneWide = false
        let (phone, token) = try await listening(
            [one, all, byDefault, defaultZone], zones: ["A", "B"])
        func received(_ name: String, in zone: String?) async throws -> [String] {
            try await phone.modify([hut(.create, name)], in: zone)
            return try await phone.received(token).map(\.subscriptionID).sorted()
        }
        #expect(try await received("a", in: "A") == ["all", "default", "one"])
        #expect(try await received("b", in: "B") == ["all", "default"])
        #expect(try await received("c", in: nil) == ["all", "default", "here"])
    }

    // MARK: Content

    /// A change has one notification ID for all subscriptions; two changes have two.
    @Test func subscriptionsShareNotificationIDOfOneChange() async throws {
        let (phone, token) = try await listening(
            [Make.query("q"), Make.query("p", on: [.create, .update]), Make.zone("z", "Trips")],
            zones: ["Trips"])
        try await phone.modify([hut(.create, "a")], in: "Trips")
        let one = try await phone.received(token)
        #expect(one.count == 3 && Set(one.map(\.notificationID)).count == 1)
        #expect(one[0].notificationID.utf8.count == 36)
        try await phone.modify([hut(.create, "b"), hut(.create, "c")], in: "Trips")
        let two = try await phone.received(token)
        let byRecord = Dictionary(grouping: two.filter { $0.recordName != nil }, by: \.recordName)
        #expect(byRecord.values.allSatisfy { Set($0.map(\.notificationID)).count == 1 })
        #expect(Set(two.map(\.notificationID)).count == 2)
        #expect(Set(two.map(\.notificationID)).isDisjoint(with: one.map(\.notificationID)))
    }

    @Test func notificationCarriesRecordValues() async throws {
        var subscription = Make.query("q")
        subscription.notificationInfo = .init(
            alertLocalizationKey: "NEW %@ %@ %@ %@",
            alertLocalizationArgs: ["name", "beds", "opened", "nothing"],
            title: "Huts", titleLocalizationKey: "TITLE %@", titleLocalizationArgs: ["name"],
            subtitleLocalizationKey: "SUB %@", subtitleLocalizationArgs: ["beds"],
            soundName: "default", shouldBadge: true, shouldSendMutableContent: true,
            additionalFields: ["beds", "tags", "name"], category: "HUT")
        let (phone, token) = try await listening([subscription])
        try await phone.modify([
            hut(
                .create, "hut",
                [
                    text("name", "Palace"), beds(20),
                    Field(name: "opened", value: .timestamp(milliseconds: 1_750_000_000_000)),
                    Field(name: "tags", value: .stringList(["a"])),
                ])
        ])
        let received = try #require(try await phone.received(token).first)
        #expect(
            String(decoding: NotificationPayload.wireBytes(of: received), as: UTF8.self) == """
                {"aps":{"alert":{"loc-key":"NEW %@ %@ %@ %@","loc-args":["Palace","20",\
                "2025-06-15T15:06:40Z",""],"title":"Huts","title-loc-key":"TITLE %@",\
                "title-loc-args":["Palace"],"subtitle-loc-key":"SUB %@","subtitle-loc-args":["20"]},\
                "badge":1,"sound":"default","category":"HUT","mutable-content":1},\
                "ck":{"ce":2,"cid":"iCloud.org.example.Trails","nid":"\(received.notificationID)",\
                "ckuserid":"\(phone.name)","qry":{"sid":"q","dbs":2,"rid":"hut","fo":1,\
                "zid":"_defaultZone","zoid":"\(phone.name)","af":{"beds":20,"name":"Palace"}}}}
                """)
    }

    @Test func zoneAndDatabaseNotificationsAreMinimal() async throws {
        var zone = Make.zone("z", "Trips")
        zone.notificationInfo = .init(alertBody: "News")
        let (phone, token) = try await listening([zone, Make.database("d")], zones: ["Trips"])
        try await phone.modify([hut(.create, "hut")], in: "Trips")
        let received = try await phone.received(token).sorted {
            $0.subscriptionID < $1.subscriptionID
        }
        let texts = received.map {
            String(decoding: NotificationPayload.wireBytes(of: $0), as: UTF8.self)
        }
        let begin = """
            "ck":{"ce":2,"cid":"iCloud.org.example.Trails",\
            "nid":"\(received[0].notificationID)","ckuserid":"\(phone.name)",
            """
        #expect(
            texts == [
                // Without an alert it is a silent one.
                """
                {"aps":{"content-available":1},\(begin)"met":{"sid":"d","dbs":2}}}
                """,
                """
                {"aps":{"alert":{"body":"News"}},\(begin)"fet":{"sid":"z","dbs":2,\
                "zid":"Trips","zoid":"\(phone.name)"}}}
                """,
            ])
    }

    /// The documented order: container, record, reason, fields, then the texts.
    @Test(arguments: [
        // How many bytes too long the notification is.
        (0, ["cid", "rid", "fo", "af", "category", "sound", "title", "body"]),
        (20, ["rid", "fo", "af", "category", "sound", "title", "body"]),
        (60, ["fo", "af", "category", "sound", "title", "body"]),
        (225, ["af", "category", "sound", "title", "body"]),
        (240, ["category", "sound", "title", "body"]),
        (255, ["sound", "title", "body"]), (270, ["title", "body"]), (285, ["body"]),
        (1_000, []),
    ])
    func longNotificationIsPrunedInDocumentedOrder(_ surplus: Int, _ left: [String]) async throws {
        var subscription = Make.query("q")
        subscription.notificationInfo = .init(
            alertBody: "x", title: "T",
            soundName: "s", additionalFields: ["name"], category: "C")
        let (phone, token) = try await listening([subscription])
        func notification(_ letter: String) async throws -> NotificationPayload {
            let name = String(repeating: letter, count: 120)
            try await phone.modify([hut(.create, name, [text("name", "Palace")])])
            return try #require(try await phone.received(token).first)
        }
        let missing = 4_096 - NotificationPayload.wireBytes(of: try await notification("a")).count
        let body = String(repeating: "x", count: 1 + missing + surplus)
        subscription.notificationInfo?.alertBody = body
        try await phone.subscribe([subscription])
        let received = try await notification("b")
        let bytes = NotificationPayload.wireBytes(of: received)
        #expect(bytes.count <= 4_096)
        let words = String(decoding: bytes, as: UTF8.self)
        let all = ["cid", "rid", "fo", "af", "category", "sound", "title", "body"]
        #expect(all.filter { words.contains("\"\($0)\":") } == left)
        #expect(words.contains("\"p\":1") == (left != all))
        #expect(words.contains(received.notificationID))
        // This project's own parser reads it too.
        let read = try bytes.withUnsafeBytes { try NotificationPayload.read(from: $0) }
        #expect(NotificationPayload.wireBytes(of: read) == bytes)
    }

    @Test func tooManyAdditionalFieldsAreRefused() async throws {
        let phone = try await World().person("alice")
        var subscription = Make.query("q")
        subscription.notificationInfo = .init(additionalFields: ["a", "b", "c", "d"])
        #expect(
            try await phone.subscribe([subscription])[0].failure?.frameworkCode == .limitExceeded)
        var narrow = Make.database("d")
        narrow.recordType = "not a type"
        #expect(try await phone.subscribe([narrow])[0].failure?.code == .badRequest)
    }
}

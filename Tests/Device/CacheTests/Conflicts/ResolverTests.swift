import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import TestSeeds
import Testing

@testable import StratusCache

/// The resolvers for whole records, and the rules for single fields: the order in which edits arrive does not change
/// the result.
@Suite(.timeLimit(.minutes(20))) struct ResolverTests {
    private let id = RecordID(name: "a", zoneID: .list)

    private func devices(
        _ resolver: any ConflictResolver, count: Int = 2,
        _ fields: [String: FieldValue?] = ["title": .string("0"), "text": .string("0")]
    ) async throws -> (cloud: RealService, devices: [Device]) {
        let cloud = RealService()
        let devices = try (0..<count).map { _ in try Device(cloud, resolver: resolver) }
        try devices[0].edit("a", fields)
        for device in devices { try await device.sync() }
        return (cloud, devices)
    }

    /// Expects that all devices have the same record and nothing pending. Returns its fields, without those of the
    /// cache.
    private func end(_ devices: [Device], _ cloud: RealService) async throws -> [Field] {
        let server = try #require(try await cloud.record("a"))
        for device in devices {
            let fields = try #require(try device.cache.snapshot(id)).fields
            #expect(fields == server.fields, "\(fields) and \(server.fields)")
            #expect(try await device.cache.pendingRecordIDs().isEmpty)
        }
        return server.fields.filter { $0.name != FieldWise.defaultFieldTimesKey }
    }

    @Test func recordWithLaterEditWinsAsAWhole() async throws {
        for order in [[0, 1], [1, 0]] {
            let (cloud, devices) = try await devices(EditDateWins())
            try devices[0].edit("a", ["title": .string("early")])
            cloud.pass()
            try devices[1].edit("a", ["text": .string("late")])
            for number in order + order { try await devices[number].sync() }
            let end = try await end(devices, cloud).filter { $0.name != "editedAt" }
            #expect(
                end == [
                    Field(name: "text", value: .string("late")),
                    Field(name: "title", value: .string("0")),
                ])
        }
    }

    @Test func recordWithMoreEditsWinsDespiteClockSkew() async throws {
        for order in [[0, 1], [1, 0]] {
            let (cloud, devices) = try await devices(EditCountWins())
            for number in 1...3 { try devices[0].edit("a", ["title": .string("\(number)")]) }
            devices[1].time.advance(milliseconds: 3_600_000)
            try devices[1].edit("a", ["title": .string("late")])
            for number in order + order { try await devices[number].sync() }
            let end = try await end(devices, cloud)
            #expect(end.first { $0.name == "title" }?.value == .string("3"))
            #expect(end.first { $0.name == "editCount" }?.value == .int64(4))
        }
    }

    @Test func firstSaveAtTheServiceWins() async throws {
        let (cloud, devices) = try await devices(ServerDateWins())
        try devices[0].edit("a", ["title": .string("first")])
        try devices[1].edit("a", ["text": .string("second")])
        try await devices[0].sync()
        try await devices[1].sync()
        let end = try await end(devices, cloud)
        #expect(end.map(\.value) == [.string("0"), .string("first")])
        guard
            case .editOverruled(_, _, ["text"]) = try await devices[1].cache.reports().first?.event
        else {
            Issue.record("The losing edit was not reported.")
            return
        }
    }

    /// Two queued edits: with every resolver the second one wins after the first one is confirmed.
    @Test(
        arguments: [
            ServerDateWins(), EditDateWins(), EditCountWins(), FieldWise(),
            LatestEditWins(editDateKey: nil),
        ] as [any ConflictResolver])
    func secondQueuedEditWins(_ resolver: any ConflictResolver) async throws {
        let (cloud, devices) = try await devices(resolver, count: 1)
        try devices[0].edit("a", ["title": .string("first")])
        devices[0].link.duringNextSend { [devices] in
            try devices[0].save("a", "second")
        }
        try await devices[0].sync()
        #expect(try await cloud.record("a")?["text"] == .string("second"))
        #expect(try await cloud.record("a")?["title"] == .string("first"))
    }

    @Test func fieldWithMoreEditsWinsAndOthersByDate() async throws {
        for order in [[0, 1], [1, 0]] {
            let (cloud, devices) = try await devices(
                FieldWise(rules: ["title": .editCount, "note": .serverDate]))
            for number in 1...3 { try devices[0].edit("a", ["title": .string("\(number)")]) }
            try devices[0].edit("a", ["text": .string("early")])
            cloud.pass()
            try devices[1].edit("a", ["title": .string("late"), "text": .string("late")])
            for number in order + order { try await devices[number].sync() }
            let end = try await end(devices, cloud)
            #expect(end.map(\.value) == [.string("late"), .string("3")])
        }
    }

    @Test func fieldByServerDateKeepsTheFirstSave() async throws {
        let (cloud, devices) = try await devices(FieldWise(rules: ["title": .serverDate]))
        try devices[0].edit("a", ["title": .string("first")])
        cloud.pass()
        try devices[1].edit("a", ["title": .string("later"), "text": .string("later")])
        for number in [0, 1, 0] { try await devices[number].sync() }
        #expect(try await end(devices, cloud).map(\.value) == [.string("later"), .string("first")])
    }

    @Test func setMergeKeepsAdditionsAndRemovalsOfBothDevices() async throws {
        for order in [[0, 1], [1, 0]] {
            let (cloud, devices) = try await devices(
                FieldWise(rules: ["tags": .set]), ["tags": .stringList(["a", "b", "c"])])
            try devices[0].edit("a", ["tags": .stringList(["a", "c", "d"])])
            cloud.pass()
            try devices[1].edit("a", ["tags": .stringList(["a", "b", "c", "e"])])
            for number in order + order { try await devices[number].sync() }
            #expect(
                try await end(devices, cloud).map(\.value) == [.stringList(["a", "c", "d", "e"])])
        }
    }

    @Test func sequenceMergeKeepsThePlacesOfInsertedElements() async throws {
        for order in [[0, 1], [1, 0]] {
            let (cloud, devices) = try await devices(
                FieldWise(rules: ["steps": .sequence]), ["steps": .stringList(["a", "b", "b"])])
            try devices[0].edit("a", ["steps": .stringList(["z", "a", "x", "b", "b"])])
            cloud.pass()
            try devices[1].edit("a", ["steps": .stringList(["a", "b", "y", "q"])])
            for number in order + order { try await devices[number].sync() }
            #expect(
                try await end(devices, cloud).map(\.value)
                    == [.stringList(["z", "a", "x", "b", "y", "q"])])
        }
    }

    /// An app without these rules wrote the list.
    @Test func listsWithoutTimesAreMergedByTheAncestor() async throws {
        let (cloud, devices) = try await devices(
            FieldWise(rules: ["tags": .set]), ["tags": .stringList(["a", "b"])])
        let plain = try Device(cloud, resolver: LatestEditWins(editDateKey: nil))
        try await plain.sync()
        try plain.edit("a", ["tags": .stringList(["b", "p"])])
        try await plain.sync()
        cloud.pass()
        try devices[0].edit("a", ["tags": .stringList(["a", "b", "d"])])
        for number in [0, 1] { try await devices[number].sync() }
        guard case .stringList(let tags) = try await end(devices, cloud).first?.value else {
            Issue.record("no list")
            return
        }
        #expect(Set(tags) == ["b", "d", "p"])
    }

    @Test func encryptedListStoresNoElementTimes() async throws {
        let (cloud, devices) = try await devices(FieldWise(rules: ["secret": .set]))
        try devices[0].cache.save([
            LocalEdit(
                id: id, type: "Item",
                changes: [
                    Field(name: "secret", value: .stringList(["a"]), isEncrypted: true)
                ])
        ])
        try await devices[0].sync()
        try devices[0].cache.save([
            LocalEdit(
                id: id, type: "Item",
                changes: [
                    Field(name: "secret", value: .stringList(["a", "b"]), isEncrypted: true)
                ])
        ])
        let times = try #require(
            try devices[0].cache.snapshot(id)?[FieldWise.defaultFieldTimesKey])
        var expected = RecordSnapshot(id: id, type: "Item")
        expected.setFields(try #require(try devices[0].cache.snapshot(id)).fields)
        guard case .string(let text) = times else {
            Issue.record("no times")
            return
        }
        // The fields title, text and secret have three marks of five characters.
        let marks = text.split(separator: ";").dropFirst().map { $0.split(separator: ":")[1].count }
        #expect(marks.reduce(0, +) == 15)
        _ = cloud
    }

    private static let resolvers: [any ConflictResolver] = [
        EditDateWins(), EditCountWins(),
        FieldWise(rules: ["title": .editCount, "tags": .set, "steps": .sequence]),
    ]

    /// Three devices make any edits: the result is the same in every order of syncs.
    @Test(arguments: Seeds.forTest("ResolverTests", count: 30), [0, 1, 2])
    func mergeResultIsTheSameInEverySyncOrder(_ seed: UInt64, _ number: Int) async throws {
        let resolver = Self.resolvers[number]
        var ends: Set<[Field]> = []
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            var random = SeededNumbers(seed: seed)
            let (cloud, devices) = try await devices(
                resolver, count: 3,
                [
                    "title": .string("0"), "tags": .stringList(["a", "b", "c"]),
                    "steps": .stringList(["a", "b", "c"]),
                ])
            // The same devices make the same edits at the same times; only the order of syncs differs.
            for step in 0..<8 {
                cloud.pass(milliseconds: 60_000)
                let device = devices[Int.random(in: 0..<3, using: &random)]
                try device.edit("a", Self.anEdit(step, &random, try device.cache.snapshot(id)))
            }
            for number in order + order + order { try await devices[number].sync() }
            ends.insert(try await end(devices, cloud))
        }
        #expect(ends.count == 1, "seed \(seed): \(ends)")
    }

    private static func anEdit(
        _ step: Int, _ random: inout SeededNumbers, _ record: RecordSnapshot?
    ) -> [String: FieldValue?] {
        let name = ["title", "tags", "steps"][Int.random(in: 0..<3, using: &random)]
        guard name != "title", case .stringList(var list) = record?[name] else {
            return ["title": .string("\(step)")]
        }
        let letter = ["a", "b", "c", "d", "e"][Int.random(in: 0..<5, using: &random)]
        let place = Int.random(in: 0...list.count, using: &random)
        if name == "tags" {
            if let index = list.firstIndex(of: letter) {
                list.remove(at: index)
            } else {
                list.insert(letter, at: place)
            }
        } else if Bool.random(using: &random), !list.isEmpty {
            list.remove(at: min(place, list.count - 1))
        } else {
            list.insert(letter, at: place)
        }
        return [name: list.isEmpty ? .emptyList : .stringList(list)]
    }
}

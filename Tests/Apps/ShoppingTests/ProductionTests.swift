import Foundation
import ShoppingCore
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusService
import StratusTesting
import Synchronization
import TestProcesses
import Testing

/// The app in production, where saves create no types or fields.
@Suite(.timeLimit(.minutes(20)))
struct ProductionTests {
    private static let identifier = "iCloud.org.example.Shopping"
    private static let day: Int64 = 86_400_000

    /// The schema from the app's folder.
    private static let schema = Result {
        try String(
            contentsOfFile: #filePath.replacing(
                "Tests/Apps/ShoppingTests/ProductionTests.swift",
                with: "Apps/Shopping/shopping.ckdb"), encoding: .utf8)
    }

    /// A container in production with a schema, and the devices of two people.
    private final class Deployed: Sendable {
        let cloud: TestCloud
        let folder: TemporaryFolder
        private let clock = DeviceClock(1_750_000_000_000)

        init(_ schema: String) async throws {
            cloud = TestCloud.lasting(clock)
            folder = try TemporaryFolder()
            let schemas = cloud.service.schemaDeployment(of: identifier)
            try await schemas.replace(with: try ContainerSchema(text: schema))
            _ = try await schemas.deploy()
        }

        func pass(milliseconds passed: Int64) { clock.milliseconds.withLock { $0 += passed } }

        func open(_ device: String, _ user: String) async throws -> ShoppingStore {
            let session = try await cloud.service.signInForDevelopment(user: user)
            let connection = CloudConnection(
                transport: InProcessTransport(
                    service: cloud.service, webAuthToken: session.webAuthToken, device: device),
                environment: .production, hasAccount: true, deviceID: device,
                keyStore: cloud.keyStore)
            let clock = clock
            return try await ShoppingStore.open(
                path: folder.path + "/\(device).sqlite",
                container: CKContainer(identifier: identifier, connection: connection),
                device: device, author: user, clock: { clock.milliseconds.withLock { $0 } })
        }
    }

    @Test func appRunsOnItsDeployedSchema() async throws {
        let problems = try await Self.problems(with: Self.schema.get())
        #expect(problems == [])
    }

    /// Removing a field from the schema causes a problem, except for the cache's own `stratusFieldTimes`: without it
    /// two edits of one record are merged as a whole.
    @Test(
        arguments: try schema.get().matches(of: /(?m)^ +("?\w+"?) +[A-Z]\w+(?: [A-Z ]+)?,?$/)
            .map { String($0.1) }.filter { $0 != "stratusFieldTimes" })
    func everyFieldOfTheSchemaIsNeeded(_ field: String) async throws {
        let whole = try Self.schema.get()
        var cut = ""
        for type in whole.split(separator: "RECORD TYPE", omittingEmptySubsequences: false) {
            // Each type loses the field; if it was the last one, the comma before it is removed too.
            let lines = type.split(separator: "\n", omittingEmptySubsequences: false)
                .filter { !($0.split(separator: " ").first == field[...]) }
            cut +=
                (cut.isEmpty ? "" : "RECORD TYPE")
                + lines.joined(separator: "\n").replacing(/,(\s*\);)/) { $0.1 }
        }
        #expect(cut != whole)
        let problems: [String]
        do {
            problems = try await Self.problems(with: cut)
        } catch {
            problems = ["\(error)"]
        }
        #expect(!problems.isEmpty)
    }

    /// The problems that occur when two people use all features of the app.
    private static func problems(with schema: String) async throws -> [String] {
        let deployed = try await Deployed(schema)
        let phone = try await deployed.open("phone", "alice@example.org")
        let bobs = try await deployed.open("bobs", "bob@example.org")
        try await bobs.sync()
        var problems: [String] = []
        func check(_ isRight: Bool, _ problem: String) { if !isRight { problems.append(problem) } }
        let picture = URL(fileURLWithPath: deployed.folder.path + "/milk.jpg")
        try Data("a picture".utf8).write(to: picture)
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk", "Bread"], afterItemID: nil)], in: weekly)
        let ids = try #require(await phone.list(weekly)?.items.map(\.id))
        try await phone.perform(
            [
                .tick(itemID: ids[0]), .untick(itemID: ids[0]),
                .rename(itemID: ids[0], name: "Oats"),
                .move(itemID: ids[0], afterItemID: ids[1]), .note(itemID: ids[0], text: "2 kg"),
                .category(itemID: ids[0], name: "Breakfast"), .recolour(colour: "red"),
                .renameList(title: "Weekly"), .remove(itemID: ids[1]),
            ], in: weekly)
        try await phone.setPicture(picture, of: ids[0], in: weekly)
        try await phone.share(weekly)
        let link = try #require(try await phone.invite(["bob@example.org"], to: weekly).link)
        let his = try await bobs.join(link)
        check(await bobs.list(his)?.title == "Weekly", "title")
        check(
            await bobs.list(his)?.items.map(\.name) == phone.list(weekly)?.items.map(\.name),
            "items")
        let file = try await bobs.picture(of: ids[0], in: his)
        check(try file.map { try Data(contentsOf: $0) } == Data("a picture".utf8), "picture")
        for store in [phone, bobs] {
            check(try await store.status().attentionCount == 0, "refused")
        }
        deployed.pass(milliseconds: 15 * day)
        try await phone.sync()
        try await phone.perform([.recolour(colour: "green")], in: weekly)
        try await phone.sync()
        let rootID = CKRecord.ID(recordName: weekly.name, zoneID: weekly.zoneID)
        let root = try await phone.container.privateCloudDatabase.record(for: rootID)
        check(root[ShoppingRecord.compressedUntilField] != nil, "compaction")
        try await bobs.sync()
        let changes = await bobs.changes()
        try await phone.stopSharing(weekly)
        try await phone.sync()
        for store in [phone, bobs] {
            check(try await store.status().attentionCount == 0, "refused at the end")
        }
        try await bobs.sync()
        check(await bobs.lists.isEmpty, "end")
        try await phone.close()
        try await bobs.close()
        var sentences: [String] = []
        for await change in changes { sentences.append(change.sentence) }
        check(sentences.contains { $0.hasSuffix("stopped sharing Weekly") }, "word of the end")
        return problems
    }
}

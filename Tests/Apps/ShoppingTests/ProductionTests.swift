import Foundation
import ShoppingCore
import StratusClient
import StratusRecords
import StratusSchema
import StratusService
import StratusTesting
import Testing

/// The app in production, where nothing comes into being by a save.
@Suite(.timeLimit(.minutes(2)))
struct ProductionTests {
    @Test func appRunsOnItsDeployedSchema() async throws {
        let cloud = TestCloud()
        let identifier = "iCloud.org.example.Shopping"
        let text = try String(
            contentsOfFile: #filePath.replacing(
                "Tests/Apps/ShoppingTests/ProductionTests.swift",
                with: "Apps/Shopping/shopping.ckdb"), encoding: .utf8)
        let schemas = cloud.service.schemaDeployment(of: identifier)
        try await schemas.replace(with: try ContainerSchema(text: text))
        _ = try await schemas.deploy()
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("shopping-production-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A leftover in the temporary folder fails no test.
        defer { try? FileManager.default.removeItem(at: folder) }
        func open(_ device: String, _ user: String) async throws -> ShoppingStore {
            let session = try await cloud.service.signInForDevelopment(user: user)
            let connection = CloudConnection(
                transport: InProcessTransport(
                    service: cloud.service, webAuthToken: session.webAuthToken, device: device),
                environment: .production, hasAccount: true, deviceID: device,
                keyStore: cloud.keyStore)
            return try await ShoppingStore.open(
                path: folder.appendingPathComponent("\(device).sqlite").path,
                container: CKContainer(identifier: identifier, connection: connection),
                device: device, author: user)
        }
        let phone = try await open("phone", "alice@example.org")
        let bobs = try await open("bobs", "bob@example.org")
        try await bobs.sync()
        let picture = folder.appendingPathComponent("milk.jpg")
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
        #expect(await bobs.list(his)?.title == "Weekly")
        #expect(await bobs.list(his)?.items.map(\.name) == phone.list(weekly)?.items.map(\.name))
        let file = try await bobs.picture(of: ids[0], in: his)
        #expect(try file.map { try Data(contentsOf: $0) } == Data("a picture".utf8))
        try await phone.stopSharing(weekly)
        try await phone.sync()
        for store in [phone, bobs] {
            #expect(try await store.status().attentionCount == 0)
        }
        try await bobs.sync()
        #expect(await bobs.lists.isEmpty)
        try await phone.close()
        try await bobs.close()
    }
}

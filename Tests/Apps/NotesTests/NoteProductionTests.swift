import CloudKit
import NotesCore
import StratusSchema
import StratusService
import StratusTesting
import Testing

/// The app in production, where saves create no types or fields.
@Suite(.timeLimit(.minutes(20)))
struct NoteProductionTests {
    @Test func appRunsOnItsDeployedSchema() async throws {
        let world = try NotesWorld()
        let text = try String(
            contentsOfFile: #filePath.replacing(
                "Tests/Apps/NotesTests/NoteProductionTests.swift", with: "Apps/Notes/notes.ckdb"),
            encoding: .utf8)
        let schemas = world.cloud.service.schemaDeployment(of: NotesWorld.container)
        try await schemas.replace(with: try ContainerSchema(text: text))
        _ = try await schemas.deploy()
        func open(_ device: String) async throws -> NoteDevice {
            let session = try await world.cloud.service.signInForDevelopment(user: "alice")
            let connection = CloudConnection(
                transport: InProcessTransport(
                    service: world.cloud.service, webAuthToken: session.webAuthToken,
                    device: device),
                environment: .production, hasAccount: true, deviceID: device,
                keyStore: world.cloud.keyStore)
            return try await world.open(
                device, CKContainer(identifier: NotesWorld.container, connection: connection))
        }
        let (phone, tablet) = (try await open("phone"), try await open("tablet"))
        try await phone.save("in production")
        try await phone.subscribed()
        let listening = Task { await tablet.app.listen() }
        defer { listening.cancel() }
        await tablet.wait { $0 == .textChanged("in production") }
        world.clock.advance(bySeconds: 1)
        try await tablet.save("and back")
        await phone.app.sync()
        #expect(await phone.text == "and back")
        for device in [phone, tablet] { #expect(await device.status.lines == ["In the cloud."]) }
    }
}

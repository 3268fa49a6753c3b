import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// Files of mapped objects.
@Suite(.timeLimit(.minutes(20)))
struct MappedAssetTests {
    let cloud = TestCloud()

    /// A file that is removed when the test ends.
    final class Photo: Sendable {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "photo-\(UUID().uuidString)")

        init(_ text: String) throws { try write(text) }

        func write(_ text: String) throws { try Data(text.utf8).write(to: url) }

        deinit {
            // The system empties its temporary folder anyway.
            try? FileManager.default.removeItem(at: url)
        }
    }

    private func text(_ url: URL?) throws -> String? {
        try url.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
    }

    /// Two devices, and Anna with a photo on the phone.
    private func pair(
        _ scope: CKDatabase.Scope, _ photo: Photo
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person) {
        try await MappedDevice.pairWithUnsavedAnna(in: cloud, scope: scope) {
            $0.photo = photo.url
        }
    }

    @Test func assetsAreSavedAndFetched() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let photo = try Photo("a lake")
        let person = phone.addPerson("Anna") { $0.photo = photo.url }
        try await phone.mapping.save(person)
        let record = try await phone.record(person.syncID)
        let copy = try await tablet.mapping.update(tablet.add(Person()), from: record)
        #expect(try text(copy.photo) == "a lake")
    }

    /// The service has lost the file of Anna's photo: all else syncs, and an edit does not remove the asset.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func lostFileDoesNotKeepObjectsFromSyncing(scope: CKDatabase.Scope) async throws {
        let photo = try Photo("a lake")
        let (phone, tablet, anna) = try await pair(scope, photo)
        _ = phone.addPerson("Bea")
        try await phone.sync()
        tablet.transport.state.withLock { $0.lacksFiles = true }
        try await tablet.sync()
        #expect(tablet.person("Bea") != nil)
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.photo == nil)
        copy.edit { $0.age = 31 }
        try await tablet.mapping.save(copy)
        tablet.transport.state.withLock { $0.lacksFiles = false }
        try await phone.sync()
        #expect(anna.age == 31)
        #expect(try text(anna.photo) == "a lake")
        #expect(try await phone.record(anna.syncID).object(forKey: "photo") is CKAsset)
    }

    /// The tablet cannot fetch the new photo, and its object keeps the former one.
    @Test(arguments: [CKDatabase.Scope.private, .public])
    func formerFileDoesNotReplaceOneThatCannotBeFetched(scope: CKDatabase.Scope) async throws {
        let (lake, hill) = (try Photo("a lake"), try Photo("a hill"))
        let (phone, tablet, anna) = try await pair(scope, lake)
        for device in [phone, tablet] { try await device.sync() }
        let copy = try #require(tablet.person("Anna"))
        anna.edit { $0.photo = hill.url }
        try await phone.sync()
        tablet.transport.state.withLock { $0.lacksFiles = true }
        try await tablet.sync()
        #expect(try text(copy.photo) == "a lake")
        copy.edit { $0.age = 31 }
        try await tablet.mapping.save(copy)
        #expect(tablet.transport.uploads == 0)
        tablet.transport.state.withLock { $0.lacksFiles = false }
        try await phone.sync()
        #expect(anna.age == 31)
        #expect(try text(anna.photo) == "a hill")
    }

    @Test(arguments: [CKDatabase.Scope.private, .public])
    func onlyChangedFilesAreUploaded(scope: CKDatabase.Scope) async throws {
        let photo = try Photo("a lake")
        let (phone, tablet, anna) = try await pair(scope, photo)
        try await phone.mapping.save(anna)
        #expect(phone.transport.uploads == 1)
        anna.edit { $0.age = 30 }
        try await phone.mapping.save(anna)
        #expect(phone.transport.uploads == 1)
        // A device that fetched the file does not upload it, also after a restart.
        try await tablet.sync()
        let copy = try #require(tablet.person("Anna"))
        #expect(try text(copy.photo) == "a lake")
        copy.edit { $0.age = 31 }
        let again = try await tablet.restarted()
        try await again.sync()
        #expect(tablet.transport.uploads + again.transport.uploads == 0)
        // Other bytes under the same name count as another file.
        try photo.write("a hill")
        try await phone.sync()
        anna.edit { $0.photo = photo.url }
        try await phone.mapping.save(anna)
        #expect(phone.transport.uploads == 2)
        try await again.sync()
        #expect(try text(copy.photo) == "a hill")
        // The fetched file was replaced on another device, so it is no longer the file that this device sent.
        let other = try Photo("a wood")
        copy.edit { $0.photo = other.url }
        try await again.mapping.save(copy)
        #expect(again.transport.uploads == 1)
        anna.edit { $0.age = 33 }
        try await phone.mapping.save(anna)
        #expect(phone.transport.uploads == 3)
        anna.edit { $0.photo = nil }
        try await phone.mapping.save(anna)
        #expect(try await phone.record(anna.syncID).object(forKey: "photo") == nil)
    }
}

import StratusMacros
import StratusTesting
import Synchronization
import Testing

enum Rank: String, Sendable {
    case guest
    case keeper
}

/// A struct for which the macro generates everything.
@CloudRecord
struct Guest {
    var name = ""
    var age = 18
    var rank = Rank.guest
    var oldRank: Rank?
    var tags: [String] = []
    var born: Date?
    @CloudReference(to: Guest.self) var friendIDs: [String] = []
    @CloudLocal var isShown = false
}

typealias Hut = CloudObject<HutFields>
typealias Valley = CloudObject<ValleyFields>

@CloudRecord
struct HutFields: CloudFields {
    var name = ""
    @CloudField("address") var valley: Valley?
    var keepers: [Keeper] = []
    var photo: URL?
    @CloudIgnore var isDraft = false
}

@CloudRecord("Dale", isWeak: true)
struct ValleyFields: CloudFields {
    @CloudPlaceholder static let unknown = Valley(ValleyFields(name: "unknown"))
    var name = ""
}

@CloudRecord
final class Keeper {
    @CloudLocal private let state = Mutex((id: String?.none, date: Date?.none, name: ""))
    init() {}
    @CloudSyncID var cloudName: String? {
        get { state.withLock { $0.id } }
        set { state.withLock { $0.id = newValue } }
    }
    @CloudChangeDate("editedAt") var editedAt: Date? {
        get { state.withLock { $0.date } }
        set { state.withLock { $0.date = newValue } }
    }
    @CloudField var name: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }
}

/// Types with the macro, synced between two devices.
@Suite(.timeLimit(.minutes(2))) struct MacroTypesTests {
    let cloud = TestCloud()

    private func device(
        _ name: String
    ) async throws -> (mapping: CloudMapping, store: MemoryStore, database: CKDatabase) {
        let container = try await cloud.container(
            "iCloud.org.example.Huts", user: "alice", device: name)
        let store = MemoryStore(Guest.self, Hut.self, Valley.self, Keeper.self)
        let mapping = try CloudMapping(
            database: container.privateCloudDatabase,
            types: [Guest.self, Hut.self, Valley.self, Keeper.self], store: store, file: nil)
        return (mapping, store, container.privateCloudDatabase)
    }

    @Test func objectsOfMacroTypesAreSavedAndFetched() async throws {
        let phone = try await device("phone")
        let tablet = try await device("tablet")
        var guest = Guest()
        guest.name = "Anna"
        guest.rank = .keeper
        guest.oldRank = .guest
        guest.tags = ["a"]
        guest.changeDate = Date(timeIntervalSince1970: 1)
        guest.friendIDs = [guest.syncID ?? ""]
        phone.store.insert(guest)
        let hut = Hut(HutFields(name: "Lake hut"))
        let keeper = Keeper()
        keeper.name = "Bea"
        hut.edit {
            $0.valley = Valley(ValleyFields(name: "Long valley"))
            $0.keepers = [keeper]
        }
        let draft = Hut(HutFields(name: "Draft", isDraft: true))
        for hut in [hut, draft] { phone.store.insert(hut) }
        try await phone.mapping.syncEntities()
        try await tablet.mapping.syncEntities()

        let copy = try #require(tablet.store.objects(Guest.self).first)
        #expect(copy.name == "Anna")
        #expect(copy.age == 18)
        #expect(copy.rank == .keeper)
        #expect(copy.oldRank == .guest)
        #expect(copy.tags == ["a"])
        #expect(copy.friendIDs == [guest.syncID])
        let huts = tablet.store.objects(Hut.self)
        #expect(huts.map(\.name) == ["Lake hut"])
        #expect(huts.first?.valley?.name == "Long valley")
        #expect(huts.first?.keepers.map(\.name) == ["Bea"])
        let record = try await phone.database.record(
            for: CKRecord.ID(
                recordName: hut.syncID ?? "", zoneID: CKRecordZone.ID(zoneName: "Objects")))
        let address: CKRecord.Reference? = record["address"]
        #expect(address?.action == .deleteSelf)
    }

    @Test func mapOfAMacroTypeEqualsTheHandWrittenOne() async throws {
        let phone = try await device("phone")
        #expect(
            phone.mapping.diagram == """
                Guest
                  friendIDs -> many Guest
                Hut
                  address -> Dale (weak)
                  keepers -> many Keeper
                Dale
                Keeper
                """)
        #expect(phone.mapping.schema.contains("photo ASSET"))
        #expect(phone.mapping.schema.contains("editedAt TIMESTAMP"))
        #expect(!phone.mapping.schema.contains("isShown"))
        #expect(!phone.mapping.schema.contains("isDraft"))
    }
}

import CloudKit
import Foundation
import StratusMapping

// The demo project of Documentation/Mapping.md: huts in valleys, on all devices of a user. A line of
// standard input is a tap of the user.

typealias Hut = CloudObject<HutFields>
typealias Valley = CloudObject<ValleyFields>

struct HutFields: CloudFields {
    static let cloudMap = CloudMap<Hut>("Hut")
        .field(\.name, "name").field(\.beds, "beds", default: 10).reference(\.valley, "valley")
    var name = ""
    var beds = 10
    var valley: Valley?
}

struct ValleyFields: CloudFields {
    static let cloudMap = CloudMap<Valley>("Valley")
        .field(\.name, "name").references(\.huts, "huts")
    var name = ""
    var huts: [Hut] = []
}

let store = MemoryStore(Hut.self, Valley.self)
let mapping = try CloudMapping(
    database: CKContainer.default().privateCloudDatabase, types: [Hut.self, Valley.self],
    store: store, file: nil)

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
func hut(_ name: String) -> Hut? { store.objects(Hut.self).first { $0.name == name } }

say("ready")
while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch (words[0], words.dropFirst().first ?? "") {
    case ("add", let name):
        let (hut, valley) = (Hut(HutFields(name: name)), Valley(ValleyFields(name: words[2])))
        hut.edit { $0.valley = valley }
        valley.edit { $0.huts = [hut] }
        store.insert(hut)
        store.insert(valley)
        try await hut.iCloud.saveAndWait()
        say("saved \(hut.syncID ?? "nowhere")")
    case ("beds", let name):
        hut(name)?.edit { $0.beds = Int(words[2]) ?? 0 }
        try await mapping.syncEntities()
        say("synced")
    case ("remove", let name):
        guard let hut = hut(name) else { fatalError("There is no hut \(name).") }
        store.remove(hut)
        try await hut.iCloud.deleteAndWait()
        say("removed")
    case ("list", _):
        try await mapping.syncEntities()
        let huts = store.objects(Hut.self).sorted { $0.name < $1.name }
        let lines = huts.map { "\($0.name)/\($0.beds)/\($0.valley?.name ?? "-")" }
        say("huts " + lines.joined(separator: " "))
    default: say("unknown")
    }
}

import AppDevice
import Foundation
import StratusClient

/// The folder that keeps what one device knows: the lists, its name, and the list that was open.
final class DeviceFolder: Sendable {
    typealias Failure = LockedFolder.Failure

    /// What the app remembers besides lists; unknown keys of a newer version are dropped.
    struct Notes: Codable, Sendable {
        var deviceName: String
        var openListID: String?
    }

    let notes: Notes
    private let folder: LockedFolder

    var path: String { folder.path }

    static var standardPath: String { LockedFolder.standardPath(app: "shopping") }

    /// Opens the folder for exclusive use by this process, and creates it if it does not exist.
    init(
        path: String, hostName: String = ProcessInfo.processInfo.hostName,
        random: () -> UInt16 = { .random(in: .min ... .max) }
    ) throws(Failure) {
        folder = try LockedFolder(path: path, app: "shopping")
        let notesPath = path + "/notes.json"
        if let data = FileManager.default.contents(atPath: notesPath),
            // Notes that cannot be read are replaced by new ones: only the last opened list and
            // similar conveniences are lost.
            let notes = try? JSONDecoder().decode(Notes.self, from: data)
        {
            self.notes = notes
        } else {
            let suffix = String(random(), radix: 16)
            let host = hostName.split(separator: ".").first.map(String.init) ?? "device"
            notes = Notes(deviceName: "\(host)-\(suffix)", openListID: nil)
            save(notes)
        }
    }

    var knownTokens: KnownTokens { folder.knownTokens }
    var keepsSignIn: Bool { folder.keepsSignIn }

    /// The app's container on this device.
    func container(_ identifier: String) -> CKContainer {
        folder.container(identifier, deviceName: notes.deviceName)
    }

    /// Remembers which list was open.
    func remember(openListID: String?) {
        var notes = notes
        notes.openListID = openListID
        save(notes)
    }

    private func save(_ notes: Notes) {
        // Not worth an error message: the next start asks for the list again.
        guard let data = try? JSONEncoder().encode(notes) else { return }
        try? data.write(to: URL(fileURLWithPath: path + "/notes.json"), options: .atomic)
    }
}

import Foundation
import StratusClient

/// The folder that keeps what one device knows: the lists, its name, and the list that was open.
final class DeviceFolder: Sendable {
    /// Why the folder cannot be used, as a sentence.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What the app remembers besides lists; unknown keys of a newer version are dropped.
    struct Notes: Codable, Sendable {
        var deviceName: String
        var openListID: String?
    }

    let path: String
    let notes: Notes
    /// Open as long as the process lives; the system lets go of the lock when it ends, however.
    private let lockDescriptor: Int32

    static var standardPath: String {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? NSHomeDirectory() + "/.local/share"
        return base + "/stratus-shopping"
    }

    /// Opens the folder for this process alone, and makes it when it does not exist.
    init(
        path: String, hostName: String = ProcessInfo.processInfo.hostName,
        random: () -> UInt16 = { .random(in: .min ... .max) }
    ) throws(Failure) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(description: "The folder \(path) cannot be made; name another: --data.")
        }
        DeviceFile.tighten(path, isFolder: true)
        lockDescriptor = open(path + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lockDescriptor >= 0 else {
            throw Failure(
                description: "The folder \(path) cannot be written; name another: --data.")
        }
        guard flock(lockDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(lockDescriptor)
            throw Failure(
                description: "Another shopping runs with the folder \(path); end it first, or name "
                    + "another folder: --data.")
        }
        let notesPath = path + "/notes.json"
        if let data = FileManager.default.contents(atPath: notesPath),
            // Notes that cannot be read are only a convenience lost; they are made anew.
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

    deinit { close(lockDescriptor) }

    var knownTokens: KnownTokens { KnownTokens(path: path + "/tokens.json") }

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

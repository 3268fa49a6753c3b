import Foundation

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
                atPath: path, withIntermediateDirectories: true)
        } catch {
            throw Failure(description: "The folder \(path) cannot be made; name another: --data.")
        }
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

    /// The file of an account's lists; nil is nobody's.
    ///
    /// Lists that were made before somebody signed in go to the first account that does.
    func listsPath(of account: String?) throws(Failure) -> String {
        let ownerless = path + "/lists.sqlite"
        guard let account else { return ownerless }
        let name = account.addingPercentEncoding(withAllowedCharacters: .fileNameCharacters)
        let own = path + "/lists-\(name ?? "account").sqlite"
        let files = FileManager.default
        guard !files.fileExists(atPath: own), files.fileExists(atPath: ownerless) else {
            return own
        }
        do {
            // What a killed app left in the log first: without it, the file would be an older one.
            for ending in ["-wal", "-shm", ""] where files.fileExists(atPath: ownerless + ending) {
                try files.moveItem(atPath: ownerless + ending, toPath: own + ending)
            }
        } catch {
            throw Failure(
                description: "The lists from before you signed in cannot be moved; make the folder "
                    + "\(path) writable.")
        }
        return own
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

extension CharacterSet {
    /// What stands in a file's name as it is; with everything else encoded, no two names are the same.
    fileprivate static let fileNameCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
}

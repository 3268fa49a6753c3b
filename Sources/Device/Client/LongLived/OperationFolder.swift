import Foundation
import Logging
import StratusRecords
import StratusRuntime

/// Whose operations: a user's, in one environment of one container.
struct OperationAccount: Hashable, Sendable {
    var container: String
    var environment: ContainerEnvironment
    /// The user's record name; empty for nobody, who has the public database alone.
    var user: String
}

/// Where the journals of long-lived operations are: a folder for each account, in it one for each
/// operation.
///
/// Names that begin with a dot are of journals that are being made or removed. What is there and is
/// no journal stays, is not listed, and is reported in the log.
struct OperationFolder: Sendable {
    static let log = Logger(label: "stratus.operations")
    /// Seconds from the end of an operation that its outcome is kept, as Apple documents.
    static let outcomeSeconds: TimeInterval = 86_400
    /// Seconds from the beginning after which an operation that did not end is not sent again: the
    /// service knows a repeated request for seven days.
    static let operationLifetimeSeconds: TimeInterval = 6 * 86_400
    /// Seconds after which an operation that nobody went on with is removed.
    static let abandonedSeconds: TimeInterval = 30 * 86_400

    let root: URL
    let world: CloudConnection.World

    /// - Parameter root: by default `$XDG_DATA_HOME/stratus/operations`, else
    ///   `~/.local/share/stratus/operations`.
    init(root: URL?, world: CloudConnection.World) {
        self.root = root ?? FileKeyStore.dataFolder.appendingPathComponent("operations")
        self.world = world
    }

    // MARK: What is there

    /// The operations of an account that can be gone on with, or are at work, the oldest first.
    func operationIDs(of account: OperationAccount) -> [CKOperation.ID] {
        let folder = url(of: account)
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch {
            // No folder, no operations.
            return []
        }
        var found: [(id: CKOperation.ID, date: Date)] = []
        for name in names {
            let url = folder.appendingPathComponent(name)
            if name.hasPrefix(".") {
                removeLeftover(url)
            } else if let id = name.removingPercentEncoding,
                let description = description(of: id, account), !isOver(description, url)
            {
                found.append((id, description.date))
            }
        }
        return found.sorted { ($0.date, $0.id) < ($1.date, $1.id) }.map(\.id)
    }

    /// What is kept of an operation; nil when there is nothing, or nothing that can be read.
    func description(
        of id: CKOperation.ID, _ account: OperationAccount
    ) -> OperationJournal.Description? {
        let url = url(of: id, account)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            return try OperationJournal.description(in: url)
        } catch {
            // As if it were not there: one damaged file must not hide the others.
            Self.log.warning(
                "What is kept of a long-lived operation cannot be read; remove it.",
                metadata: ["path": "\(url.path)", "error": "\(error)"])
            return nil
        }
    }

    /// Removes what is too old.
    private func isOver(_ description: OperationJournal.Description, _ url: URL) -> Bool {
        let now = world.now
        if let end = OperationJournal.end(in: url) {
            guard now.timeIntervalSince(end.date) > Self.outcomeSeconds else { return false }
        } else if now.timeIntervalSince(description.date) <= Self.abandonedSeconds {
            return false
        }
        // Who runs it has a lock; without one it is nobody's.
        guard let journal = OperationJournal.opened(url) else { return false }
        journal.forget()
        return true
    }

    private func removeLeftover(_ url: URL) {
        let path = url.path
        do {
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
            guard let date = date as? Date, world.now.timeIntervalSince(date) > 86_400 else {
                return
            }
            try FileManager.default.removeItem(at: url)
        } catch {
            // Another process was faster, or it stays: it is not listed either way.
        }
    }

    // MARK: Journals

    /// Begins a journal.
    ///
    /// - Throws: what the disk says.
    func make(
        _ id: CKOperation.ID, of account: OperationAccount,
        describe: (JournalWriter) throws -> Void
    ) throws -> OperationJournal {
        let parent = url(of: account)
        try FileManager.default.createDirectory(
            at: parent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for folder in [root, parent] { DeviceFile.tighten(folder.path, isFolder: true) }
        let draft = parent.appendingPathComponent(".new-" + world.makeUUID().uuidString)
        try FileManager.default.createDirectory(
            at: draft, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        do {
            return try OperationJournal.make(in: draft, movedTo: url(of: id, account), describe)
        } catch {
            // Not listed; if it stays, it is removed after a day.
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    func url(of id: CKOperation.ID, _ account: OperationAccount) -> URL {
        url(of: account).appendingPathComponent(HTTPTransport.escaped(id))
    }

    private func url(of account: OperationAccount) -> URL {
        let name = [account.container, account.environment.rawValue, account.user]
            .map(HTTPTransport.escaped).joined(separator: "+")
        return root.appendingPathComponent(name)
    }
}

import Foundation
import Logging
import StratusRecords
import StratusRuntime

/// The account that operations belong to: a user in one environment of one container.
struct OperationAccount: Hashable, Sendable {
    var container: String
    var environment: ContainerEnvironment
    /// The user's record name; empty if no user is signed in, in which case only the public database can be used.
    var user: String
}

/// The folder of the journals of long-lived operations: a folder for each account, in it one for
/// each operation.
///
/// Names that begin with a dot belong to journals that are being created or removed. Other files
/// that are not journals are left alone, are not listed, and are reported in the log.
struct OperationFolder: Sendable {
    private static let log = Logger(label: "stratus.operations")
    /// Seconds that an operation's outcome is kept after its end, as Apple documents.
    static let outcomeSeconds: TimeInterval = 86_400
    /// Seconds from its start after which an operation that did not end is not sent again: the
    /// service recognizes a repeated request for seven days.
    static let operationLifetimeSeconds: TimeInterval = 6 * 86_400
    /// Seconds after which an operation that no process continued is removed.
    static let abandonedSeconds: TimeInterval = 30 * 86_400

    let root: URL
    let world: World

    /// - Parameter root: by default `$XDG_DATA_HOME/stratus/operations`, else
    ///   `~/.local/share/stratus/operations`.
    init(root: URL?, world: World) {
        self.root = root ?? FileKeyStore.dataFolder.appendingPathComponent("operations")
        self.world = world
    }

    /// Logs what could not be done with a file or folder of operations.
    static func warn(_ sentence: Logger.Message, _ url: URL, _ error: any Error) {
        log.warning(sentence, metadata: ["path": "\(url.path)", "error": "\(error)"])
    }

    // MARK: Listing

    /// The operations of an account that are running or can be continued, the oldest first.
    func operationIDs(of account: OperationAccount) throws(CKError) -> [String] {
        let folder = url(of: account)
        // It does not exist until an operation is stored.
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch {
            throw CKError(
                .internalError,
                "The folder of long-lived operations, \(folder.path), cannot be read. Correct its permissions.",
                details: ["path": folder.path], cause: error)
        }
        var found: [(id: String, date: Date)] = []
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

    /// The description of an operation; nil when it does not exist or cannot be read.
    func description(
        of id: String, _ account: OperationAccount
    ) -> OperationJournal.Description? {
        let url = url(of: id, account)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            return try OperationJournal.description(in: url)
        } catch {
            // Treated as missing and logged, so that one damaged file does not hide the others.
            Self.warn(
                "The stored long-lived operation cannot be read; remove it.", url, error)
            return nil
        }
    }

    /// Removes an operation that is too old.
    private func isOver(_ description: OperationJournal.Description, _ url: URL) -> Bool {
        let now = world.now
        if let end = OperationJournal.end(in: url) {
            guard now.timeIntervalSince(end.date) > Self.outcomeSeconds else { return false }
        } else if now.timeIntervalSince(description.date) <= Self.abandonedSeconds {
            return false
        }
        // A process that runs the operation holds its lock; if the lock is free, no process does.
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
            // Another process removed it first, or it cannot be removed: it is not listed either
            // way, and removing it is tried again at the next listing.
        }
    }

    // MARK: Journals

    /// Creates a journal.
    ///
    /// - Throws: the error of writing to the disk.
    func make(
        _ id: String, of account: OperationAccount,
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
            // The draft is not listed. If it cannot be removed now, it is removed after a day.
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    func url(of id: String, _ account: OperationAccount) -> URL {
        url(of: account).appendingPathComponent(PercentEncoding.text(id))
    }

    private func url(of account: OperationAccount) -> URL {
        let name = [account.container, account.environment.rawValue, account.user]
            .map { PercentEncoding.text($0) }.joined(separator: "+")
        return root.appendingPathComponent(name)
    }
}

import Foundation
import StratusClient
import StratusRuntime
import Synchronization

/// The last common state of both sides, in a file of lines to which changes are appended, and which
/// is rewritten when most lines are outdated.
///
/// A line that was partly written when the process ended is skipped: then something is compared
/// once more, and so is what a loss of power took with it. Only this file knows of deletions by the
/// app: those are synced to the disk, and so is a rewritten file. After a line that could not be
/// written, as on a full disk, the file is rewritten.
final class SyncLedger: Sendable {
    /// A record of the cloud, as this device last fetched or saved it.
    struct Known: Codable, Hashable {
        /// When the object was changed, in milliseconds.
        var changed: Int64?
        var tag: String?
        /// True if only some fields of the object's last edit were saved.
        var isPart: Bool?

        /// Whether the record lacks the object's last edit, or a part of it.
        ///
        /// - Parameter changed: the object's change date, in milliseconds.
        func lacksEdit(of changed: Int64?) -> Bool { isPart == true || self.changed != changed }
    }

    /// A file that is an asset at the service.
    struct KnownFile: Codable, Hashable {
        /// The digest to store if this device could not fetch the file, and the object has no former file.
        static let digestOfNone = ""

        /// SHA-256 of the bytes that the object has. If this device could not fetch the file, they are those of a former
        /// file, which must not replace the one at the service.
        var digest: String
        /// The service's checksum.
        var checksum: String
        var isHere: Bool { digest != Self.digestOfNone }
    }

    /// The names that a record refers to, by reference, if not all of its targets were here.
    typealias UnlinkedNames = [String: Unlinked]

    /// One line of the file.
    private struct Line: Codable {
        var type: String?
        var name: String?
        var known: Known?
        /// Whether a deletion must still be sent to the cloud.
        var isPending: Bool?
        /// A field and its file.
        var field: String?
        var file: KnownFile?
        var unlinked: UnlinkedNames?
        var key: String?
        var value: String?
    }

    private struct State {
        var known: [String: [String: Known]] = [:]
        var deleted = DeletedNames()
        var values: [String: String] = [:]
        /// The files, by type, name and field.
        var files: [String: [String: [String: KnownFile]]] = [:]
        /// The unlinked names, by type and name of the referring object.
        var unlinked: [String: [String: UnlinkedNames]] = [:]
        var lineCount = 0
        var file: FileHandle?
        /// Whether the file may lack lines, or end with a part of one, after which a further line would be unreadable.
        var isIncomplete = false
        /// Whether the folder has the file's name on the disk.
        var isNameSynced = false

        var factCount: Int {
            known.values.reduce(values.count + deleted.count) { $0 + $1.count }
                + files.values.reduce(0) { $0 + $1.count }
                + unlinked.values.reduce(0) { $0 + $1.count }
        }

        mutating func take(_ line: Line) {
            lineCount += 1
            if let key = line.key { values[key] = line.value }
            guard let type = line.type, let name = line.name else { return }
            if let field = line.field {
                files[type, default: [:]][name, default: [:]][field] = line.file
                return
            }
            if let names = line.unlinked {
                unlinked[type, default: [:]][name] = names.isEmpty ? nil : names
                return
            }
            if line.known == nil {
                files[type]?[name] = nil
                unlinked[type]?[name] = nil
            }
            known[type, default: [:]][name] = line.known
            if let isPending = line.isPending {
                deleted.note(type, name, isPending: isPending)
            } else if line.known != nil {
                // A pending deletion stays pending: the save that ended now began before it.
                deleted.forgetDone(type, name)
            }
        }
    }

    private struct Open: Sendable {
        weak let ledger: SyncLedger?
    }

    private static let open = Mutex<[String: Open]>([:])

    private let url: URL?
    private let append: @Sendable (FileHandle, Data) throws -> Void
    private let sync: @Sendable (FileHandle) throws -> Void
    private let state: Mutex<State>

    /// The ledger of a file. Two mappings with one file, as in an app that sets up twice, share the ledger, so that
    /// they do not overwrite each other's lines.
    ///
    /// - Parameter url: nil keeps everything in memory.
    static func of(_ url: URL?) throws -> SyncLedger {
        guard let url else { return try SyncLedger(url: nil) }
        let path = url.standardizedFileURL.path
        return try open.withLock { open in
            // After the app has removed the file, a new ledger is used.
            if let ledger = open[path]?.ledger, FileManager.default.fileExists(atPath: path) {
                return ledger
            }
            let ledger = try SyncLedger(url: url)
            open = open.filter { $0.value.ledger != nil }
            open[path] = Open(ledger: ledger)
            return ledger
        }
    }

    /// - Parameters:
    ///   - append: writes at the end of the file; replaced in tests, for a disk that is full.
    ///   - sync: waits until the disk has the file's content; replaced in tests.
    init(
        url: URL?,
        append: @escaping @Sendable (FileHandle, Data) throws -> Void = {
            try $0.write(contentsOf: $1)
        },
        sync: @escaping @Sendable (FileHandle) throws -> Void = { try $0.synchronize() }
    ) throws {
        self.url = url
        self.append = append
        self.sync = sync
        var state = State()
        if let url, FileManager.default.fileExists(atPath: url.path) {
            // A file that exists but cannot be read is not replaced: its deletions were not all sent.
            let data = try Self.reporting(url) { try Data(contentsOf: url) }
            let decoder = JSONDecoder()
            for line in data.split(separator: UInt8(ascii: "\n")) {
                // A partly written line is skipped; what it recorded is compared once more.
                if let line = try? decoder.decode(Line.self, from: line) { state.take(line) }
            }
            state.isIncomplete = data.last.map { $0 != UInt8(ascii: "\n") } ?? false
        }
        if let url { try Self.openFile(url, &state) }
        self.state = Mutex(state)
    }

    func known(_ type: String, _ name: String) -> Known? {
        state.withLock { $0.known[type]?[name] }
    }

    func knownNames(_ type: String) -> Set<String> {
        state.withLock { Set($0.known[type, default: [:]].keys) }
    }

    func isDeleted(_ type: String, _ name: String) -> Bool {
        state.withLock { $0.deleted.contains(type, name) }
    }

    func pendingDeletions(_ type: String) -> [String] {
        state.withLock { $0.deleted.pending(type) }
    }

    func value(_ key: String) -> String? { state.withLock { $0.values[key] } }

    /// The keys of values that begin with a text, without that text.
    func keys(after prefix: String) -> Set<String> {
        state.withLock { state in
            let keys = state.values.keys.filter { $0.hasPrefix(prefix) }
            return Set(keys.map { String($0.dropFirst(prefix.count)) })
        }
    }

    func file(_ type: String, _ name: String, _ field: String) -> KnownFile? {
        state.withLock { $0.files[type]?[name]?[field] }
    }

    func setFiles(_ type: String, _ name: String, _ files: [String: KnownFile]) throws {
        let new = files.filter { file(type, name, $0.key) != $0.value }
        try write(new.map { Line(type: type, name: name, field: $0.key, file: $0.value) })
    }

    func unlinked(_ type: String, _ name: String) -> UnlinkedNames {
        state.withLock { $0.unlinked[type]?[name] ?? [:] }
    }

    /// The objects of a type that lack links.
    func unlinkedObjects(_ type: String) -> [String: UnlinkedNames] {
        state.withLock { $0.unlinked[type] ?? [:] }
    }

    func setUnlinked(_ type: String, _ name: String, _ names: UnlinkedNames) throws {
        guard unlinked(type, name) != names else { return }
        try write([Line(type: type, name: name, unlinked: names)])
    }

    func setKnown(_ type: String, _ known: [String: Known]) throws {
        try write(known.map { Line(type: type, name: $0.key, known: $0.value) })
    }

    /// - Parameters:
    ///   - isPending: whether the deletion must still be sent to the cloud. Then the disk has it when this returns.
    ///   - isDurable: whether the disk must have it also if it is not pending.
    func setDeleted(
        _ type: String, _ names: some Sequence<String>, isPending: Bool, isDurable: Bool = false
    ) throws {
        try write(
            names.map { Line(type: type, name: $0, isPending: isPending) },
            isDurable: isPending || isDurable)
    }

    func set(_ key: String, _ value: String?) throws {
        guard self.value(key) != value else { return }
        try write([Line(key: key, value: value)])
    }

    /// Removes the common state: the next sync compares and sends everything.
    func forgetAll() throws {
        try state.withLock { state in
            state.known = [:]
            state.values = [:]
            state.files = [:]
            state.unlinked = [:]
            if let url { try Self.rewrite(&state, to: url) }
        }
    }

    private func write(_ lines: [Line], isDurable: Bool = false) throws {
        guard !lines.isEmpty else { return }
        try state.withLock { state in
            for line in lines { state.take(line) }
            guard let url, let file = state.file else { return }
            if state.isIncomplete || state.lineCount > 2 * state.factCount + 1_000 {
                return try Self.rewrite(&state, to: url)
            }
            state.isIncomplete = true
            let isNameSynced = state.isNameSynced
            try Self.reporting(url) {
                try append(file, Self.text(lines))
                guard isDurable else { return }
                try sync(file)
                if !isNameSynced { try Self.syncFolder(of: url) }
            }
            state.isNameSynced = isNameSynced || isDurable
            state.isIncomplete = false
        }
    }

    private static func syncFolder(of url: URL) throws {
        let code = DurableFile.sync(url.standardizedFileURL.deletingLastPathComponent().path)
        // A file system that cannot flush folders returns EINVAL.
        guard code == 0 || code == EINVAL else { throw posixError(code) }
    }

    private static func posixError(_ code: Int32) -> POSIXError {
        POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }

    /// Opens a file to append to it, and creates it if it does not exist.
    private static func openFile(_ url: URL, _ state: inout State) throws {
        DeviceFile.make(url.path)
        DeviceFile.tighten(url.path)
        // One that cannot be written to is replaced, if the folder allows it.
        guard let file = try? FileHandle(forWritingTo: url) else {
            return try rewrite(&state, to: url)
        }
        _ = try reporting(url) { try file.seekToEnd() }
        state.file = file
    }

    private static func rewrite(_ state: inout State, to url: URL) throws {
        var lines = state.values.map { Line(key: $0.key, value: $0.value) }
        for (type, known) in state.known {
            lines += known.map { Line(type: type, name: $0.key, known: $0.value) }
        }
        lines += state.deleted.inOrder.map {
            Line(type: $0.type, name: $0.name, isPending: $0.isPending)
        }
        for (type, names) in state.files {
            for (name, files) in names {
                lines += files.map {
                    Line(type: type, name: name, field: $0.key, file: $0.value)
                }
            }
        }
        for (type, names) in state.unlinked {
            lines += names.map { Line(type: type, name: $0.key, unlinked: $0.value) }
        }
        state.lineCount = lines.count
        // Until it has all lines: an attempt that fails is repeated by the next write.
        state.isIncomplete = true
        state.file = try reporting(url) {
            try DurableFile.replace(url.path, with: Array(text(lines)), failure: posixError)
            let file = try FileHandle(forWritingTo: url)
            try file.seekToEnd()
            return file
        }
        state.isIncomplete = false
        state.isNameSynced = true
    }

    private static func text(_ lines: [Line]) throws -> Data {
        let encoder = JSONEncoder()
        var text = Data()
        for line in lines {
            text += try encoder.encode(line)
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    private static func reporting<Value>(
        _ url: URL, _ body: () throws -> Value
    ) throws -> Value {
        try Result(catching: body).mapError { error in
            MappingError(
                .unwritable,
                "The mapping's file \(url.path) cannot be read or written. Correct its permissions, or use a file in a writable folder.",
                cause: error)
        }.get()
    }
}

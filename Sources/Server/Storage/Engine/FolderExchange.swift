import Foundation
import StratusRuntime

/// Replaces a data folder's content, so that a crash at any moment leaves either the old or the new one.
///
/// The new content is in the folder ``stageName``, complete and on the disk. The file `format` stores the progress.
/// While it does, nothing opens the folder, and the next process that has it alone completes the exchange first:
/// 1. the old content moves to the folder that `format` names; nothing is deleted, and files of others stay;
/// 2. the new content moves in, `format` last.
package struct FolderExchange: Sendable {
    package static let stageName = "restoring"
    private static let formatName = "format"
    private static let word = "stratus restore "

    private struct Progress {
        var step: Int
        /// The name of the folder for the old content.
        var aside: String
        /// The earlier content of `format`; empty when there was none.
        var former: String
    }

    private let folder: String
    private let willStep: @Sendable () throws -> Void

    /// - Parameter willStep: Called before each change of the folder. In tests, an error that it throws simulates the
    ///   end of the process between two changes.
    package init(
        _ folder: String, willStep: @escaping @Sendable () throws -> Void = {}
    ) {
        self.folder = folder
        self.willStep = willStep
    }

    /// Replaces the content by the staged one. Needs exclusive access to the folder.
    ///
    /// - Parameter aside: The name of a folder that does not exist yet.
    /// - Throws: ``StorageError``. Once `format` has the progress, the exchange is completed when the folder is opened
    ///   next.
    package func begin(aside: String) throws {
        let former = FileManager.default.contents(atPath: path(Self.formatName)) ?? Data()
        try note(Progress(step: 1, aside: aside, former: String(decoding: former, as: UTF8.self)))
        try complete()
    }

    /// Completes an interrupted exchange. Needs exclusive access to the folder.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package func complete() throws -> Bool {
        guard var progress = Self.progress(in: folder) else { return false }
        if progress.step == 1 {
            try moveAside(progress)
            progress.step = 2
            try note(progress)
        }
        let stage = path(Self.stageName)
        for name in try DataFolder.names(in: stage) where name != Self.formatName {
            try move(stage + "/" + name, to: path(name))
        }
        try DataFolder.sync(folder)
        try move(stage + "/" + Self.formatName, to: path(Self.formatName))
        try DataFolder.sync(folder)
        try willStep()
        rmdir(stage)
        return true
    }

    /// Whether an exchange of a folder was interrupted.
    package static func isUnderWay(in folder: String) -> Bool { progress(in: folder) != nil }

    private func moveAside(_ progress: Progress) throws {
        // Files that are not Stratus's, such as a file system's lost+found, may not be movable: with them the exchange
        // would never end.
        let names = try DataFolder.names(in: folder).filter {
            DataFolder.isOwnName($0) && $0 != "lock" && $0 != Self.formatName
        }
        let aside = path(progress.aside)
        if !names.isEmpty {
            try willStep()
            guard mkdir(aside, 0o700) == 0 || errno == EEXIST else {
                throw StorageError.translating(errno: errno, path: aside)
            }
        }
        for name in names { try move(path(name), to: aside + "/" + name) }
        guard access(aside, F_OK) == 0 else { return }
        if !progress.former.isEmpty {
            try write(progress.former, to: aside + "/" + Self.formatName)
        }
        try DataFolder.sync(aside)
        try DataFolder.sync(folder)
    }

    // MARK: Files

    private static func progress(in folder: String) -> Progress? {
        guard let data = FileManager.default.contents(atPath: folder + "/" + formatName) else {
            return nil
        }
        let text = String(decoding: data, as: UTF8.self)
        let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        let words = lines[0].dropFirst(word.count).split(separator: " ")
        guard text.hasPrefix(word), lines.count == 2, words.count == 2, let step = Int(words[0]),
            words[1].hasPrefix("replaced-"), !words[1].contains("/")
        else { return nil }
        return Progress(step: step, aside: String(words[1]), former: String(lines[1]))
    }

    private func note(_ progress: Progress) throws {
        try write(
            "\(Self.word)\(progress.step) \(progress.aside)\n\(progress.former)",
            to: path(Self.formatName))
    }

    /// Writes under another name first, so that a file with this name is complete.
    private func write(_ text: String, to path: String) throws {
        try willStep()
        let draft = path + ".new"
        try DurableFile.write(Array(text.utf8), to: draft) { code in
            StorageError.translating(errno: code, path: draft)
        }
        try move(draft, to: path)
        try DataFolder.sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    private func move(_ from: String, to: String) throws {
        try willStep()
        guard rename(from, to) == 0 else { throw StorageError.translating(errno: errno, path: to) }
    }

    private func path(_ name: String) -> String { folder + "/" + name }
}

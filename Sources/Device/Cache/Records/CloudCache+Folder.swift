import Foundation
import StratusClient
import StratusRuntime
import StratusSync

/// A folder with a file for each user, and one for what was made before anybody signed in.
extension CloudCache {
    /// What happens to records that were made on this device before anybody signed in.
    public enum LocalRecords: Hashable, Sendable {
        /// They stay in the local file, which opens again when nobody is signed in.
        case keepApart
        /// The first user who signs in on this device and has no file here gets them, and sends them.
        case adopt
    }

    /// Opens or creates the file of a user in a folder, or the local one.
    ///
    /// The app says whose file it opens, as it knows who is signed in also without a network; when the
    /// account changes, close the cache and open the next user's. A file that was synced for somebody
    /// else is neither sent nor shown as another's: syncing halts with `otherAccount`.
    ///
    /// ```swift
    /// let user = try await CKContainer.default().userRecordID().recordName  // remember it
    /// let cache = try CloudCache(
    ///     folder: folder, userRecordName: user, localRecords: .adopt, container: .default())
    /// ```
    ///
    /// - Parameters:
    ///   - folder: where the files are; made when it is not there, for its user alone.
    ///   - userRecordName: who is signed in; nil is nobody.
    ///   - localRecords: whether the user gets the records that were made before signing in. They are never
    ///     added to a file that the user has already, and only the user who is named here gets them.
    ///   - container: whose databases to keep.
    ///   - scopes: which of them: private, shared, or both.
    ///   - settings: how fast each database syncs, and how much at once.
    ///   - resolver: decides conflicts; `LatestEditWins` by default.
    ///   - editDateKey: the date field in which every local edit leaves its time; nil leaves records alone.
    ///   - versions: which records are too new for this app, and how older ones are migrated.
    ///   - types: which fields queries shall find by index; nil leaves the file as it was declared last.
    ///   - assets: which files come by themselves, and how much room they may take.
    ///   - world: time and chance; others in tests.
    /// - Throws: ``CacheError``: as ``init(path:container:scopes:settings:resolver:editDateKey:versions:types:assets:world:)``, and
    ///   `inUse` when another process has the local records open that are to be adopted.
    public convenience init(
        folder: String, userRecordName: String?, localRecords: LocalRecords = .keepApart,
        container: CKContainer, scopes: Set<CKDatabase.Scope> = [.private, .shared],
        settings: SyncSettings = SyncSettings(), resolver: (any ConflictResolver)? = nil,
        editDateKey: String? = nil, versions: RecordVersions = RecordVersions(),
        types: [CachedType]? = nil, assets: AssetSettings = AssetSettings(),
        world: World = .live
    ) throws {
        let path = try Self.path(in: folder, of: userRecordName, localRecords)
        try self.init(
            path: path, container: container, scopes: scopes, settings: settings,
            resolver: resolver, editDateKey: editDateKey, versions: versions, types: types,
            assets: assets, world: world)
        // Nobody else gets it, whoever is signed in at its first sync.
        if let userRecordName { _ = try databases[0].store.claim(for: userRecordName) }
    }

    /// The path of a user's file, after what was to be adopted has been.
    package static func path(
        in folder: String, of userRecordName: String?, _ localRecords: LocalRecords
    ) throws -> String {
        let files = FileManager.default
        do {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw CacheError(
                .unwritable,
                "The cache's folder cannot be written. Make it writable, with space left.",
                cause: error)
        }
        let local = folder + "/local.sqlite"
        guard let userRecordName else { return local }
        let own = folder + "/user-" + fileName(userRecordName) + ".sqlite"
        if localRecords == .adopt, !files.fileExists(atPath: own), files.fileExists(atPath: local) {
            try adopt(local, as: own)
        }
        return own
    }

    private static func adopt(_ local: String, as own: String) throws {
        do {
            // A local file that was synced once is somebody's: it stays theirs.
            guard try Self.userRecordName(ofFileAt: local) == nil else { return }
            try DatabaseUse.waitUntilClosed(local)
            try emptyLog(ofFileAt: local)
            // The last one who closes a database removes its log.
            guard !FileManager.default.fileExists(atPath: local + "-wal") else {
                throw CacheError(
                    .inUse, "Another process has the local records open. End it, then try again."
                )
            }
            try linkAssets(of: local, to: own)
            try FileManager.default.moveItem(atPath: local, toPath: own)
            // The files are linked into the user's folder already; other links to them do no harm.
            try? FileManager.default.removeItem(atPath: local + AssetFiles.folderSuffix)
        } catch let error as CacheError {
            throw error
        } catch {
            throw CacheError(
                .unwritable,
                "The cache's folder cannot be written. Make it writable, with space left.",
                cause: error)
        }
    }

    /// Gives the files of assets a name beside the new file too, before that is there: at no moment a row has no file.
    private static func linkAssets(of local: String, to own: String) throws {
        let (from, to) = (local + AssetFiles.folderSuffix, own + AssetFiles.folderSuffix)
        let files = FileManager.default
        guard files.fileExists(atPath: from) else { return }
        try files.createDirectory(
            atPath: to, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for name in try files.contentsOfDirectory(atPath: from)
        where !files.fileExists(atPath: to + "/" + name) {
            try files.linkItem(atPath: from + "/" + name, toPath: to + "/" + name)
        }
    }

    /// Encoded so that no two names are the same file, on file systems too that do not tell capitals apart.
    private static func fileName(_ name: String) -> String {
        name.addingPercentEncoding(
            withAllowedCharacters: CharacterSet(
                charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789-_"))
            ?? "account"
    }
}

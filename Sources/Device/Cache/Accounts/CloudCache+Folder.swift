import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// A folder with a file for each user, and a local file for records that were made before a user signed in.
extension CloudCache {
    /// What happens to records that were made on this device before a user signed in.
    public enum LocalRecords: Hashable, Sendable {
        /// They stay in the local file, which opens again when no user is signed in.
        case keepApart
        /// The first user who signs in on this device and has no file here gets them, and sends them.
        case adopt
    }

    /// Opens or creates the file of a user in a folder, or the local one.
    ///
    /// The app names the user, because it knows who is signed in without a network; when the account changes, close the
    /// cache and open the next user's. A file is synced only for its own user: syncing halts with `otherAccount`.
    ///
    /// ```swift
    /// let user = try await CKContainer.default().userRecordID().recordName  // remember it
    /// let cache = try CloudCache(
    ///     folder: folder, userRecordName: user, localRecords: .adopt, container: .default())
    /// ```
    ///
    /// - Parameters:
    ///   - folder: the folder of the files; created if it does not exist, accessible only to its
    ///     user.
    ///   - userRecordName: the user who is signed in; nil if none is.
    ///   - localRecords: whether the user gets the records that were made before signing in. They
    ///     are never added to an existing file of the user, and only this user gets them.
    ///   - container: the container whose databases are kept.
    ///   - scopes: which of them: private, shared, or both.
    ///   - settings: how fast each database syncs, and how much at once.
    ///   - resolver: decides conflicts; `FieldWise` by default, or `LatestEditWins` where there is an
    ///     `editDateKey`.
    ///   - editDateKey: the date field that every local edit sets to its time; nil sets no field.
    ///   - versions: which records are too new for this app, and how older ones are migrated.
    ///   - types: which fields queries find by index; nil keeps the last declaration.
    ///   - assets: which files are downloaded automatically, and how much space they may take.
    ///   - world: the source of time and randomness; replaced in tests.
    /// - Throws: ``CacheError``: as
    ///   ``init(path:container:scopes:settings:resolver:editDateKey:versions:types:assets:world:)``,
    ///   and `inUse` when another process has the local records open that must be adopted.
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
        // Set now: otherwise the file would belong to the user who is signed in when it is first synced.
        if let userRecordName { _ = try databases[0].store.claim(for: userRecordName) }
    }

    /// The path of a user's file, after local records were adopted if requested.
    package static func path(
        in folder: String, of userRecordName: String?, _ localRecords: LocalRecords
    ) throws -> String {
        let files = FileManager.default
        do {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw CacheError.unwritable(folder, cause: error)
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
            // A local file that was synced belongs to a user, and stays theirs.
            guard try Self.userRecordName(ofFileAt: local) == nil else { return }
            try DatabaseUse.waitUntilClosed(local)
            try emptyLog(ofFileAt: local)
            // The log exists while a connection is open: the last one to close removes it.
            guard !FileManager.default.fileExists(atPath: local + "-wal") else {
                throw CacheError(
                    .inUse,
                    "Another process has the local records in \(local) open. End it, then try again."
                )
            }
            try linkAssets(of: local, to: own)
            try FileManager.default.moveItem(atPath: local, toPath: own)
            // The files are linked into the user's folder already. Links that stay here take no
            // space of their own, but keep the bytes of files that the cache evicts later.
            try? FileManager.default.removeItem(atPath: local + AssetFiles.folderSuffix)
        } catch let error as CacheError {
            throw error
        } catch {
            throw CacheError.unwritable(own, cause: error)
        }
    }

    /// Links the files of assets into the new file's folder before the new file exists, so that no
    /// row is without its file at any time.
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

    /// Encoded so that different names are different files, even on file systems that ignore case.
    private static func fileName(_ name: String) -> String {
        PercentEncoding.text(name) { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

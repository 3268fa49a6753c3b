import StratusClient
import StratusRuntime
import StratusSync

extension CloudCache {
    /// Opens a file in memory; see ``MemoryCacheFile``.
    ///
    /// - Parameters:
    ///   - memory: the file.
    ///   - container: the container whose databases are kept.
    ///   - scopes: which of them: private, shared, or both.
    ///   - settings: how fast each database syncs, and how much at once.
    ///   - resolver: decides conflicts; `FieldWise` by default, or `LatestEditWins` where there is an
    ///     `editDateKey`.
    ///   - editDateKey: a date field that every local edit sets to its time; nil sets no field.
    ///   - versions: which records are too new for this app, and how older ones are migrated.
    ///   - types: which fields queries find by index.
    ///   - world: the source of time and randomness; replaced in tests.
    /// - Throws: ``CacheError`` `invalidDatabase` for the public database, which is queried and not kept.
    public convenience init(
        memory: MemoryCacheFile, container: CKContainer,
        scopes: Set<CKDatabase.Scope> = [.private, .shared],
        settings: SyncSettings = SyncSettings(), resolver: (any ConflictResolver)? = nil,
        editDateKey: String? = nil, versions: RecordVersions = RecordVersions(),
        types: [CachedType]? = nil, world: World = .live
    ) throws {
        let remotes = scopes.sorted { $0.rawValue < $1.rawValue }.map {
            CloudKitDatabase(database: container.database(with: $0))
        }
        try self.init(
            remotes: remotes, settings: settings, resolver: resolver, editDateKey: editDateKey,
            versions: versions, types: types, assets: AssetSettings(),
            publicDatabase: container.publicCloudDatabase, world: world
        ) { database in
            let file = try CacheFile(memory: memory, world: world)
            return (file, try remotes.map { try database(file, $0) })
        }
    }
}

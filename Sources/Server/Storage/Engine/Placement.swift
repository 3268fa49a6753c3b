import StratusRecords

/// Where an engine keeps its databases and blobs.
protocol Placement: Sendable {
    /// Where databases are opened and closed.
    var work: WorkThread { get }
    /// How many databases stay open; nil when a closed one would be lost.
    var openDatabases: Int? { get }
    /// After how many seconds without use a database is closed; nil when it would be lost.
    var idleSeconds: Double? { get }
    /// Whether no other process uses the data.
    var isExclusive: Bool { get }

    /// The directory's database, which the placement has opened.
    var directory: any OpenDatabase { get }

    /// Opens a database, and creates it if it does not exist.
    func open(_ address: DatabaseAddress) throws -> any OpenDatabase

    func blobs(for address: DatabaseAddress) -> any BlobStore

    /// All existing databases.
    func databases() throws -> [DatabaseAddress]

    /// Databases that have acknowledged commits and are missing.
    func missingDatabases() throws -> [DatabaseAddress]

    /// All existing databases that ever stored a blob.
    func databasesWithBlobs() throws -> [DatabaseAddress]

    /// Deletes all databases of a container, none of which is open.
    func deleteDatabases(of address: ContainerAddress) throws

    /// The file of a database; in memory a name for messages.
    func path(of address: DatabaseAddress) -> String

    /// Files in the databases' folder that do not belong to them.
    func unknownFiles() throws -> [String]

    /// The system's data about a database's files, which show that they were repaired or replaced.
    func files(of address: DatabaseAddress) -> DamagedDatabases.Files

    /// The room that is kept for a full disk; nil when there is no disk or another process keeps it.
    var reserve: DiskReserve? { get }

    /// Lets another process use the data. Called after all databases were closed.
    func release()
}

extension Placement {
    /// Opens a database. If the disk is full, tries once more with the room of the reserve.
    func openMakingRoom(_ address: DatabaseAddress) throws -> any OpenDatabase {
        do {
            return try open(address)
        } catch let error as StorageError where error.code == .diskFull {
            guard let reserve, reserve.noteFull() else { throw error }
            return try open(address)
        }
    }
}

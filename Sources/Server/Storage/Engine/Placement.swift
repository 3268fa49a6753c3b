import StratusRecords

/// Where an engine keeps its databases and blobs.
protocol Placement: Sendable {
    /// Where opening and closing run.
    var work: WorkThread { get }
    /// How many databases stay open; nil where a closed one would be lost.
    var openDatabases: Int? { get }
    /// After how many seconds without a use a database is closed; nil where it would be lost.
    var idleSeconds: Double? { get }
    /// Whether this process has the data to itself.
    var isExclusive: Bool { get }

    /// The directory's database, which the placement has opened.
    var directory: any OpenDatabase { get }

    /// Opens a database, and makes it when it is not there.
    func open(_ address: DatabaseAddress) throws -> any OpenDatabase

    func blobs(for address: DatabaseAddress) -> any BlobStore

    /// Every database there is.
    func databases() throws -> [DatabaseAddress]

    /// Databases that were acknowledged and are not there.
    func missingDatabases() throws -> [DatabaseAddress]

    /// Every database there is that ever kept a blob.
    func databasesWithBlobs() throws -> [DatabaseAddress]

    /// Deletes all databases of a container, none of which is open.
    func deleteDatabases(of address: ContainerAddress) throws

    /// The file of a database; in memory a name for messages.
    func path(of address: DatabaseAddress) -> String

    /// What lies among the databases without belonging to them.
    func strangers() throws -> [String]

    /// What the system says of a database's files, to notice that they were repaired or replaced.
    func files(of address: DatabaseAddress) -> DamagedDatabases.Files

    /// The room that is kept for a full disk; nil where there is no disk or it is not this process's.
    var reserve: DiskReserve? { get }

    /// Lets another process have the data. Called after all databases were closed.
    func release()
}

extension Placement {
    /// Opens a database; where the disk is found full by it, once more with the room that was kept.
    func openMakingRoom(_ address: DatabaseAddress) throws -> any OpenDatabase {
        do {
            return try open(address)
        } catch let error as StorageError where error.code == .diskFull {
            guard let reserve, reserve.noteFull() else { throw error }
            return try open(address)
        }
    }
}

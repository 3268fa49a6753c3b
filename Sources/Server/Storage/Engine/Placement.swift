import StratusRecords

/// Where an engine keeps its databases and blobs.
protocol Placement: Sendable {
    /// Where opening and closing run.
    var work: WorkThread { get }
    /// How many databases stay open; nil where a closed one would be lost.
    var openDatabases: Int? { get }
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

    /// Lets another process have the data. Called after all databases were closed.
    func release()
}

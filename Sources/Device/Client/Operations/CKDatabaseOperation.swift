import Foundation

/// An operation on one database.
public class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The database; nil means the private database of the configuration's container.
    public var database: CKDatabase? {
        didSet {
            if let database { configuration.container = database.container }
        }
    }

    /// A session with the database, by the settings at the operation's start.
    func session() -> DatabaseSession {
        let database = effectiveDatabase
        var session = database.session(
            pace: effectiveConfiguration.pace(database.core.connection.world))
        session.sender.target.deviceID = journal?.foreignDeviceID
        return session
    }

    var effectiveDatabase: CKDatabase {
        database ?? (effectiveConfiguration.container ?? CKContainer.default()).privateCloudDatabase
    }
}

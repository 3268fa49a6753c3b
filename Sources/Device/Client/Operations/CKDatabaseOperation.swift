import Foundation

/// An operation on one database.
public class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    /// Nil is the private database of the configuration's container.
    public var database: CKDatabase? {
        didSet {
            if let database { configuration.container = database.container }
        }
    }

    /// The way to the database, as the settings have it when the operation starts.
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

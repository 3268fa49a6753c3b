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
        let values = effectiveConfiguration
        let database =
            database ?? (values.container ?? CKContainer.default()).privateCloudDatabase
        return database.session(pace: values.pace)
    }
}

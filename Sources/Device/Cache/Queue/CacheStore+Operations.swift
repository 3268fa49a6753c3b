import GRDB
import StratusRecords
import StratusSQLite
import StratusSync
import StratusWire

/// Remembers which requests were sent and not answered. One that the network kept may still arrive, after this device has
/// fetched what the service has and decided by it: it would bring back a record that was deleted since, or delete a zone
/// that was made anew. So it is cancelled first.
///
/// A row of the table of flags for each: its value has the name of the device or process in requests, and in the shared
/// database the owners of the zones that it names, each in a line.
extension CacheStore {
    private static let flagPrefix = "unanswered/"

    /// Notes that an operation's request is about to be sent.
    ///
    /// - Parameter zones: those that it names.
    func noteOperation(
        _ operation: SentOperation, of zones: Set<ZoneID>, _ database: Database
    ) throws {
        let owners = scope == .shared ? Set(zones.map(\.ownerName)).sorted() : []
        try setText(
            ([operation.deviceID] + owners).joined(separator: "\n"),
            named: Self.flagPrefix + operation.id, database)
    }

    func noteOperation(_ operation: SentOperation, of zones: Set<ZoneID>) throws {
        try file.write { try noteOperation(operation, of: zones, $0) }
    }

    /// Notes that an operation was answered, or cancelled: no request of it changes anything any more.
    func endOperation(_ id: String, _ database: Database) throws {
        try setText(nil, named: Self.flagPrefix + id, database)
    }

    func endOperations(_ ids: [String]) throws {
        try file.write { database in
            for id in ids { try endOperation(id, database) }
        }
    }

    /// The operations that were sent and not answered, as many as one request cancels.
    func unansweredOperations() throws -> [UnansweredOperation] {
        try read { database in
            let statement = try SQLStatement(
                database,
                """
                SELECT name, value FROM flag
                WHERE database = ? AND name > ? AND name < ? ORDER BY name
                LIMIT \(OperationsCancel.maximumCount)
                """)
            try statement.bind(1, Int64(scope.rawValue)).bind(2, Self.flagPrefix)
                .bind(3, "unanswered0")
            return try statement.all { row in
                let name = try row.storedText(0)
                let lines = (row.optionalText(1) ?? "").split(
                    separator: "\n", omittingEmptySubsequences: false
                ).map(String.init)
                return UnansweredOperation(
                    id: String(name.dropFirst(Self.flagPrefix.count)), deviceID: lines[0],
                    zoneOwners: Array(lines.dropFirst()))
            }
        }
    }
}

/// A request that changes something, as it is named at the service.
struct SentOperation {
    var id: String
    var deviceID: String
}

extension SyncFailure {
    /// Whether no request of the operation is on its way any more: the service answered it, or it was not sent.
    var endsOperation: Bool {
        switch code {
        // An account that changes, or a network that goes, may do so while the service answers.
        case .notAuthenticated, .networkUnavailable, .serviceUnavailable: false
        default: !leavesArrivalUnknown
        }
    }
}

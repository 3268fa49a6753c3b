import GRDB
import StratusRecords
import StratusSQLite
import StratusSync
import StratusWire

/// Remembers which requests were sent and not answered. A delayed request may still arrive after this device has
/// fetched the service's state and acted on it: it would create a record again that was deleted since, or delete a zone
/// that was created again. So it is cancelled first.
///
/// Each request has a row in the table `flag`. Its value has the identifier of the device or process that sent it, and
/// in the shared database the owners of the zones that it names, one per line.
extension CacheStore {
    private static let flagPrefix = "unanswered/"

    /// Notes that an operation's request is about to be sent.
    ///
    /// - Parameter zones: the zones that it names.
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

    /// Notes that an operation was answered, or cancelled: none of its requests can change anything any more.
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

/// A request that changes something, by its name at the service.
struct SentOperation {
    var id: String
    var deviceID: String
}

extension SyncFailure {
    /// Whether no request of the operation can still arrive: the service answered it, or it was not sent.
    var endsOperation: Bool {
        switch code {
        // The account may change, or the network may fail, while the service answers.
        case .notAuthenticated, .networkUnavailable, .serviceUnavailable: false
        default: !leavesArrivalUnknown
        }
    }
}

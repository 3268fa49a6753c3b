import StratusRecords
import StratusStorage

extension StoreAction {
    /// The result of a reading action as text; nil for an action that writes.
    func read(_ reader: any StoreReader) throws -> String? {
        switch self {
        case .records(let names, let zone):
            let rows = try reader.records(named: names, in: reader.key(of: zone))
            return "\(rows.values.sorted { $0.version < $1.version })"
        case .recordsByName(let zone, let name, let limit, let bytes):
            let key = try reader.key(of: zone)
            let rows = try reader.records(
                in: key, after: name, limit: limit, payloadBytes: bytes)
            let names = try [nil, rows.first?.creator].map {
                try reader.names(madeBy: $0, in: key, after: name, limit: limit)
            }
            return "\(rows) \(names)"
        case .scan(let type, let zone, let name):
            var rows: [RecordRow] = []
            try reader.scan(type: type, in: reader.key(of: zone), after: name) { row in
                rows.append(row)
                return rows.count < 5
            }
            return "\(rows)"
        case .zones(let version, let limit):
            let zones = try reader.zones(
                changedAfter: version, deletedAfter: version + 2, limit: limit)
            return "\(zones)"
        case .changes(let zone, let cursor, let limit, let bytes):
            return try String(
                describing: reader.changes(
                    in: reader.key(of: zone), after: cursor, limit: limit, payloadBytes: bytes))
        case .oldTombstones(let milliseconds, let zone, let limit):
            let key = try reader.key(of: zone)
            let version = try reader.oldTombstones(before: milliseconds, in: key, limit: limit)
            return try "\(version ?? -1) \(reader.counts(of: key))"
        case .readAll: return try Self.everything(in: reader)
        default: return try readBesideRecords(reader)
        }
    }

    private func readBesideRecords(_ reader: any StoreReader) throws -> String? {
        switch self {
        case .holders(let target, let zone, let limit):
            let key = try reader.key(of: zone)
            let holders = try ReferenceRow.Action.allCases.map {
                try reader.holders(of: target, $0, in: key, limit: limit)
            }
            return "\(holders)"
        case .ancestor(let version, let zone):
            let row = try reader.ancestor(replacedAt: version, in: reader.key(of: zone))
            return String(describing: row)
        case .asset(let sha256):
            return try "\(String(describing: reader.asset(sha256))) \(reader.assetBytes)"
        case .entries(let index, let zone, let lower, let upper, let limit):
            let key = try reader.key(of: zone)
            let entries = try [true, false].map {
                try reader.entries(
                    of: index, in: key, between: (lower, upper), isAscending: $0, limit: limit)
            }
            let count = try reader.entryCount(
                of: index, in: key, between: (lower, upper), limit: limit)
            return "\(entries) \(count)"
        default: return try readShares(reader)
        }
    }

    private func readShares(_ reader: any StoreReader) throws -> String? {
        switch self {
        case .family(let name, let zone, let limit):
            let key = try reader.key(of: zone)
            // Their order is not guaranteed, so all of them are compared.
            let below = try reader.descendants(
                of: name, in: key, limit: 999, payloadBytes: .max
            ).sorted(by: \.name)
            return try "\(reader.children(of: name, in: key, limit: limit)) \(below)"
        case .share(let share, let zone, let user):
            let key = try reader.key(of: zone)
            return try """
            \(String(describing: reader.share(shortGUID: Self.shortGUID(share, key)))) \
            \(reader.shares(in: key, limit: 2)) \(reader.hasShares(in: key)) \
            \(reader.access(of: user, in: key)) \(reader.audience(of: key))
            """
        case .sharedZones(let version, let limit, let owner):
            return try """
            \(reader.sharedZones()) \
            \(reader.sharedZones(changedAfter: version, limit: limit)) \
            \(String(describing: reader.sharedZone(owner: owner, name: "A")))
            """
        case .sharedChanges(let zone, let roots, let cursor, let limit, let bytes):
            let key = try reader.key(of: zone)
            var page = try reader.sharedChanges(
                in: key, roots: roots, after: cursor, limit: limit, payloadBytes: bytes)
            // The model has no index and passes nothing.
            page.passedChanges = 0
            return try "\(page) \(reader.sharedVersion(of: key, roots: roots))"
        default: return nil
        }
    }

    /// Epochs without their identifiers and times, which differ between the stores.
    private static func epochs(
        of zone: ZoneRow.Key?, in reader: any StoreReader
    ) throws -> [String] {
        let all = try reader.epochs(of: zone, from: 0, limit: 99)
        let latest = try reader.epochs(of: zone, before: 3, limit: 2)
        return (all + latest).map { "\($0.epoch.number) from \($0.startVersion)" }
    }

    private static func events(in reader: any StoreReader) throws -> [String] {
        try reader.outbox(after: 0, limit: 99).map {
            "\($0.identifier) \($0.body) in epoch \($0.epoch.number)"
        }
    }

    static func shortGUID(_ share: String, _ zone: ZoneRow.Key) -> String {
        "\(share) of \(zone.rawValue)"
    }

    /// All rows that can be listed.
    private static func everything(in reader: any StoreReader) throws -> String {
        let zones = try ["A", "b", "_defaultZone"].compactMap { try reader.zone(named: $0) }
        var lines = try [
            "\(reader.epoch.number) \(reader.databaseVersion) \(reader.zones())",
            "\(epochs(of: nil, in: reader)) \(zones.map { try epochs(of: $0.key, in: reader) })",
            "\(reader.subscriptions(of: nil)) \(reader.subscriptions(of: "_u0"))",
            "\(events(in: reader)) \(reader.indexes())",
            "\(reader.indexes(ofType: "T0")) \(reader.hasRecordsOlderThanIndexes)",
            "\(reader.recordBytes) \(reader.countRecordBytes()) \(reader.assetBytes)",
            "\(reader.sharedZones())",
        ]
        for user in ["_u0", "_u1", "_u2"] {
            for number in 0...3 {
                let key = OperationKey(user: user, device: "phone", operation: "\(number)")
                lines.append(String(describing: try reader.outcome(of: key)))
            }
        }
        let ends = (IndexEntry(key: [], name: ""), IndexEntry(key: [255], name: ""))
        for zone in zones {
            lines.append("\(zone)")
            lines.append(
                try "\(reader.records(in: zone.key, after: "", limit: 99, payloadBytes: .max))")
            for index in try reader.indexes() {
                lines.append(
                    try String(
                        describing: reader.entries(
                            of: index.key, in: zone.key, between: ends, isAscending: true,
                            limit: 999)))
            }
            for name in (0...25).map({ "r\($0)" }) {
                for action in ReferenceRow.Action.allCases {
                    let holders = try reader.holders(of: name, action, in: zone.key, limit: 99)
                    lines.append("\(holders)")
                }
            }
        }
        return lines.joined(separator: "\n")
    }
}

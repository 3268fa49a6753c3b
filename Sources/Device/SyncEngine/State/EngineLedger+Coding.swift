import StratusRecords
import StratusSync

/// The stored form of the ledger, in JSON or a property list: version 1.
///
/// Zones are listed once and have numbers; a record has its name and its zone's number. Changes in
/// flight are written as pending, so that a restart sends them again. Other versions are refused.
extension EngineLedger: Codable {
    private static let formatVersion = 1

    private enum Key: String, CodingKey {
        case version, user, databaseToken, zones, zoneTokens, zonesToFetch, subscriptionID
        case hasUntracked, records, zoneChanges, zonesEncryptedAsOne, generations, unreadable
        case conflictingRecords = "metRecords"
    }

    private struct Zone: Codable {
        var name: String
        var owner: String
    }

    private struct Token: Codable {
        var zone: Int
        var text: String
    }

    private struct Generation: Codable {
        var zone: Int
        var number: Int64
    }

    private struct Record: Codable {
        var name: String
        var zone: Int
        var kind: Int
    }

    private struct ConflictingRecord: Codable {
        var name: String
        var zone: Int
        var type: String
    }

    private struct UnreadableRecord: Codable {
        var name: String
        var zone: Int
    }

    private struct ZoneWork: Codable {
        var zone: Int
        var isDeletion: Bool
    }

    func encode(to encoder: any Encoder) throws {
        var zones: [ZoneID: Int] = [:]
        var list: [Zone] = []
        func number(_ zone: ZoneID) -> Int {
            if let known = zones[zone] { return known }
            zones[zone] = list.count
            list.append(Zone(name: zone.name, owner: zone.ownerName))
            return list.count - 1
        }
        let tokens = zoneTokens.sorted {
            ($0.key.name, $0.key.ownerName) < ($1.key.name, $1.key.ownerName)
        }
        .map { Token(zone: number($0.key), text: $0.value) }
        var changes = inFlight.filter { !withdrawn.contains($0.key) }
        for (id, change) in pending { changes[id] = change }
        let records = changes.values.map {
            Record(name: $0.id.name, zone: number($0.id.zoneID), kind: $0.kind.rawValue)
        }
        let work = pendingZones.map {
            ZoneWork(zone: number($0.key), isDeletion: $0.value == .delete)
        }
        let unfetched = zonesToFetch.map(number)
        let generations = zoneGenerations.sorted {
            ($0.key.name, $0.key.ownerName) < ($1.key.name, $1.key.ownerName)
        }
        .map { Generation(zone: number($0.key), number: $0.value) }
        let encryptedAsOne = zonesEncryptedAsOne.map(number).sorted()
        let conflicting = conflictingRecords.flatMap { zone, records in
            records.map { ConflictingRecord(name: $0.key, zone: number(zone), type: $0.value) }
        }
        let unreadable = self.unreadable.keys.inOrder.flatMap { zone in
            (self.unreadable[zone] ?? []).sorted().map {
                UnreadableRecord(name: $0, zone: number(zone))
            }
        }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(Self.formatVersion, forKey: .version)
        try container.encodeIfPresent(userRecordName, forKey: .user)
        try container.encodeIfPresent(databaseToken, forKey: .databaseToken)
        try container.encodeIfPresent(subscriptionID, forKey: .subscriptionID)
        try container.encode(hasPendingUntrackedChanges, forKey: .hasUntracked)
        try container.encode(list, forKey: .zones)
        try container.encode(tokens, forKey: .zoneTokens)
        try container.encode(unfetched, forKey: .zonesToFetch)
        try container.encode(records, forKey: .records)
        try container.encode(work, forKey: .zoneChanges)
        if !generations.isEmpty { try container.encode(generations, forKey: .generations) }
        if !encryptedAsOne.isEmpty {
            try container.encode(encryptedAsOne, forKey: .zonesEncryptedAsOne)
        }
        if !conflicting.isEmpty {
            try container.encode(
                conflicting.sorted { ($0.zone, $0.name) < ($1.zone, $1.name) },
                forKey: .conflictingRecords)
        }
        if !unreadable.isEmpty {
            try container.encode(unreadable, forKey: .unreadable)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func damaged(_ sentence: String) -> DecodingError {
            .dataCorrupted(
                .init(codingPath: container.codingPath, debugDescription: sentence))
        }
        guard try container.decode(Int.self, forKey: .version) == Self.formatVersion else {
            throw damaged(
                "Another version of the engine wrote the state, and this one reads format"
                    + " \(Self.formatVersion); start without it.")
        }
        let zones = try container.decode([Zone].self, forKey: .zones).map {
            ZoneID(name: $0.name, ownerName: $0.owner)
        }
        func zone(_ number: Int) throws -> ZoneID {
            guard zones.indices.contains(number) else {
                throw damaged(
                    "The state names zone \(number), and has \(zones.count); start without it.")
            }
            return zones[number]
        }
        self.init()
        userRecordName = try container.decodeIfPresent(String.self, forKey: .user)
        databaseToken = try container.decodeIfPresent(String.self, forKey: .databaseToken)
        subscriptionID = try container.decodeIfPresent(String.self, forKey: .subscriptionID)
        for token in try container.decode([Token].self, forKey: .zoneTokens) {
            zoneTokens[try zone(token.zone)] = token.text
        }
        let generations =
            try container.decodeIfPresent([Generation].self, forKey: .generations) ?? []
        for generation in generations {
            note([try zone(generation.zone): generation.number])
        }
        let conflicting =
            try container.decodeIfPresent([ConflictingRecord].self, forKey: .conflictingRecords)
            ?? []
        for record in conflicting {
            noteConflicting(
                RecordID(name: record.name, zoneID: try zone(record.zone)), type: record.type)
        }
        let unreadable =
            try container.decodeIfPresent([UnreadableRecord].self, forKey: .unreadable) ?? []
        for record in unreadable {
            noteUnreadable([record.name], besides: [], in: try zone(record.zone))
        }
        zonesToFetch = try container.decode([Int].self, forKey: .zonesToFetch).map(zone)
        add(
            try container.decode([ZoneWork].self, forKey: .zoneChanges).map {
                (zone: try zone($0.zone), change: $0.isDeletion ? ZoneChange.delete : .save)
            })
        add(
            try container.decode([Record].self, forKey: .records).map { record in
                guard let kind = PendingChange.Kind(rawValue: record.kind) else {
                    throw damaged(
                        "The state has a change of the unknown kind \(record.kind); start without it."
                    )
                }
                return (id: RecordID(name: record.name, zoneID: try zone(record.zone)), kind: kind)
            })
        zonesEncryptedAsOne = Set(
            try container.decodeIfPresent([Int].self, forKey: .zonesEncryptedAsOne)?.map(zone) ?? []
        )
        setHasPendingUntrackedChanges(
            try container.decode(Bool.self, forKey: .hasUntracked))
    }
}

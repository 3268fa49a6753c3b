import Foundation
import GRDB
import StratusMatching
import StratusRecords
import StratusWire

/// A declared record type in the file: its tables and columns.
struct IndexedType: Codable, Hashable {
    struct Column: Codable, Hashable {
        var key: String
        /// The kinds of values ever stored in the column: comparisons with other kinds find
        /// nothing.
        var kinds: KeyKinds = []
    }

    var recordType: String
    /// The number in the tables' names; SQLite ignores case, so names of types could collide.
    var number: Int
    var columns: [Column]
    var searchable: [String]
    var shown: [String]

    /// A row for each record of the type: `k0` and on are the keys of the columns (``IndexKey``).
    var table: String { "stratus_index_\(number)" }
    /// The words of the searchable fields, as the service's index has them (``SearchTokens``).
    var wordTable: String { "stratus_word_\(number)" }
    var view: String { "records_\(recordType)" }

    func column(of field: QueryDictionary.FieldName) -> Int? {
        columns.firstIndex { $0.field == field }
    }

    /// Whether it equals the app's declaration.
    func conforms(to declared: CachedType) -> Bool {
        columns.map(\.key) == declared.indexed && searchable == declared.searchable
            && shown == declared.columns
    }
}

extension IndexedType.Column {
    var field: QueryDictionary.FieldName {
        switch key {
        case "creationDate": .system(.createdTimestamp)
        case "modificationDate": .system(.modifiedTimestamp)
        default: .user(key)
        }
    }
}

/// The declared types, stored in the file so that every process that writes maintains the same
/// columns.
extension CacheFile {
    private static let flag = "types"

    /// The declared types as of this connection's transaction.
    func types(_ database: Database) throws -> [String: IndexedType] {
        guard let text = try CacheFlag.value(named: Self.flag, ofDatabase: 0, database) else {
            return [:]
        }
        return try knownTypes.withLock { known in
            if known.text == text { return known.types }
            let list = try StoredJSON.decode([IndexedType].self, from: Data(text.utf8))
            guard list.allSatisfy({ (0..<Int(Int32.max)).contains($0.number) }) else {
                throw CacheError.damagedNumber
            }
            known = (text, Dictionary(list.map { ($0.recordType, $0) }) { $1 })
            return known.types
        }
    }

    func set(_ types: [IndexedType], _ database: Database) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(types), as: UTF8.self)
        try CacheFlag.set(text, named: Self.flag, ofDatabase: 0, database)
    }

    /// Stores the kinds of values that the columns of a type have.
    func update(_ type: IndexedType, _ database: Database) throws {
        var types = try types(database)
        types[type.recordType] = type
        try set(types.values.sorted { $0.number < $1.number }, database)
    }
}

extension IndexedType {
    /// Writes the columns and words of a record.
    ///
    /// - Parameter isNew: whether it has none yet.
    /// - Returns: whether a column has a kind of value for the first time.
    mutating func index(
        _ record: RecordSnapshot, key: Int64, zoneKey: Int64, isNew: Bool = false,
        _ database: Database
    ) throws -> Bool {
        let values = RecordValues(record)
        var isNewKind = false
        var arguments: [DatabaseValue] = [
            key.databaseValue, zoneKey.databaseValue, record.id.zoneID.name.databaseValue,
            record.id.name.databaseValue,
        ]
        for (index, column) in columns.enumerated() {
            let value = values[column.field]
            let kinds = KeyKinds(of: value)
            if !column.kinds.isSuperset(of: kinds) {
                columns[index].kinds.formUnion(kinds)
                isNewKind = true
            }
            arguments.append(
                Data(value.flatMap(IndexKey.bytes(of:)) ?? IndexKey.missing).databaseValue)
        }
        let names = columns.indices.map { ", k\($0)" }.joined()
        let marks = columns.indices.map { _ in ", ?" }.joined()
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO \(table) (record, zone, zoneName, name\(names))
                VALUES (?, ?, ?, ?\(marks))
                """
        ).execute(arguments: StatementArguments(arguments))
        if !searchable.isEmpty { try indexWords(of: values, key: key, isNew, database) }
        return isNewKind
    }

    private func indexWords(
        of values: RecordValues, key: Int64, _ isNew: Bool, _ database: Database
    ) throws {
        if !isNew {
            try database.cachedStatement(sql: "DELETE FROM \(wordTable) WHERE record = ?")
                .execute(arguments: [key])
        }
        let insert = try database.cachedStatement(
            sql: "INSERT INTO \(wordTable) (word, record) VALUES (?, ?)")
        let words = Set(searchable.flatMap { values[.user($0)]?.searchTokens ?? [] })
        for word in words { try insert.execute(arguments: [Data(word), key]) }
    }

    /// Writes the columns of system fields, when only those changed.
    mutating func indexSystem(
        _ system: RecordSnapshot.SystemFields?, key: Int64, _ database: Database
    ) throws -> Bool {
        let record = RecordSnapshot(
            id: RecordID(name: "", zoneID: ZoneID(name: "")), type: recordType, system: system)
        let values = RecordValues(record)
        var isNewKind = false
        for (index, column) in columns.enumerated() {
            guard case .system = column.field else { continue }
            let value = values[column.field]
            if columns[index].kinds.insert(KeyKinds(of: value)).inserted { isNewKind = true }
            try database.cachedStatement(
                sql: "UPDATE \(table) SET k\(index) = ? WHERE record = ?"
            ).execute(arguments: [
                Data(value.flatMap(IndexKey.bytes(of:)) ?? IndexKey.missing), key,
            ])
        }
        return isNewKind
    }
}

/// The kinds of values that have keys; their keys are ordered within a kind, not between two.
struct KeyKinds: OptionSet, Codable, Hashable {
    var rawValue: Int

    static let int64 = Self(rawValue: 1)
    static let double = Self(rawValue: 2)
    static let notANumber = Self(rawValue: 4)
    static let string = Self(rawValue: 8)
    static let timestamp = Self(rawValue: 16)
    static let bytes = Self(rawValue: 32)
    static let reference = Self(rawValue: 64)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(of value: FieldValue?) {
        switch value {
        case .int64: self = .int64
        case .double(let number): self = number.isNaN ? .notANumber : .double
        case .string: self = .string
        case .timestamp: self = .timestamp
        case .bytes: self = .bytes
        case .reference: self = .reference
        default: self = []
        }
    }
}

extension RecordValues {
    /// A record of the cache for queries.
    ///
    /// One that the service does not have yet counts as created and changed by the user, after all
    /// others.
    init(_ record: RecordSnapshot) {
        let system = record.system
        let user = ZoneID.currentUserName
        self.init(
            SystemValues(
                recordName: record.id.name, recordType: record.type,
                parent: record.parentRecordName, share: system?.shareRecordName,
                creator: system?.creatorRecordName ?? user,
                modifier: system?.modifierRecordName ?? user,
                createdMilliseconds: system?.createdMilliseconds ?? .max,
                modifiedMilliseconds: system?.modifiedMilliseconds ?? .max),
            fields: record.fields)
    }
}

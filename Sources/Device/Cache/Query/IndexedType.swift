import Foundation
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
                parent: record.parentRecordName, shareRoot: nil,
                creator: system?.creatorRecordName ?? user,
                modifier: system?.modifierRecordName ?? user,
                createdMilliseconds: system?.createdMilliseconds ?? .max,
                modifiedMilliseconds: system?.modifiedMilliseconds ?? .max),
            fields: record.fields)
    }
}

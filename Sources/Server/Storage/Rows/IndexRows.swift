import StratusRecords

/// An index of the records of one type, as it is stored.
public struct IndexRow: Hashable, Sendable {
    /// Identifies the index in the rows of its entries.
    public struct Key: Hashable, Sendable, RawRepresentable {
        public var rawValue: Int64
        public init(rawValue: Int64) { self.rawValue = rawValue }
    }

    /// What the keys of an index contain. The raw values are stored.
    public enum Kind: Int, Hashable, Sendable {
        /// Nothing: the entries are the names of all records of the type.
        case name = 0
        /// A field's value, or each member of a list.
        case value = 1
        /// The words of a text.
        case token = 2
        /// The cell of the earth's surface that contains a location.
        case place = 3
        /// A field's value, or each member of a list, together with the value of a second field, by which records with
        /// equal first values are ordered.
        case compound = 4
    }

    /// The state of an index. The raw values are stored.
    public enum Phase: Int, Hashable, Sendable {
        /// Saves update it; older records are being added.
        case building = 0
        /// Complete: queries read it, and saves update it.
        case readable = 1
        /// Saves do not update it; its entries are being removed.
        case dropping = 2
    }

    /// What an index is about.
    public struct Definition: Hashable, Sendable {
        /// The record type whose records have entries.
        public var recordType: String
        /// Empty for the index of names.
        public var field: String
        /// What the keys of the entries contain.
        public var kind: Kind
        /// The type of the field; nil for the index of names.
        public var valueType: FieldType?
        /// The second field of a compound index; nil for all others.
        public var order: Order?

        /// Makes a definition; by default without a second field.
        public init(
            recordType: String, field: String, kind: Kind, valueType: FieldType?,
            order: Order? = nil
        ) {
            self.recordType = recordType
            self.field = field
            self.kind = kind
            self.valueType = valueType
            self.order = order
        }

        /// The second field of a compound index.
        public struct Order: Hashable, Sendable {
            /// The name of the field, or the `SchemaSystemField` name of a system field.
            public var field: String
            /// The type of the second field.
            public var valueType: FieldType

            /// Makes the second part of a compound index.
            public init(field: String, valueType: FieldType) {
                self.field = field
                self.valueType = valueType
            }
        }
    }

    /// Identifies the index in its database; assigned by the store.
    public var key: Key
    /// What the index is about; never changes.
    public var definition: Definition
    /// Whether the index is being built, complete or being removed.
    public var phase: Phase
    /// The zone in which building continues; zones with lower keys are done.
    public var progressZone: ZoneRow.Key
    /// The name of the last record that was added there.
    public var progressName: String

    /// Makes an index's row; by default building has not begun.
    public init(
        key: Key, definition: Definition, phase: Phase,
        progressZone: ZoneRow.Key = ZoneRow.Key(rawValue: 0), progressName: String = ""
    ) {
        self.key = key
        self.definition = definition
        self.phase = phase
        self.progressZone = progressZone
        self.progressName = progressName
    }
}

/// A record's place in an index: entries are ordered by the bytes of the key, then of the name.
public struct IndexEntry: Hashable, Comparable, Sendable {
    /// Bytes whose order is the order of values; empty for a record without a value, and in the index of names.
    public var key: [UInt8]
    /// The name of the record.
    public var name: String

    /// Makes an entry, or a bound between entries.
    public init(key: [UInt8], name: String) {
        self.key = key
        self.name = name
    }
}

extension IndexEntry {
    public static func < (left: IndexEntry, right: IndexEntry) -> Bool {
        left.key == right.key
            // SQLite's order of text, which differs from Swift's.
            ? left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
            : left.key.lexicographicallyPrecedes(right.key)
    }
}

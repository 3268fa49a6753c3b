import StratusRecords

/// A query as the protocol writes it: a type, filters that must all hold, and an order.
public struct QueryDictionary: Hashable, Sendable {
    /// The type of the records to find; not `Users`.
    public var recordType = ""
    /// The conditions. Without any, `records/query` requires that `recordName` is marked queryable.
    public var filterBy: [Filter] = []
    /// The sort keys, the most important first. Without any, the service chooses an order, the same on every page.
    public var sortBy: [Sort] = []

    /// Makes a query; without filters it finds all records of the type.
    public init(recordType: String, filterBy: [Filter] = [], sortBy: [Sort] = []) {
        self.recordType = recordType
        self.filterBy = filterBy
        self.sortBy = sortBy
    }

    public init() {}

    /// One condition.
    public struct Filter: Hashable, Sendable {
        /// How the field is compared with the value.
        public var comparator: Comparator
        /// The field that is compared.
        public var field: FieldName
        /// The value to compare with. Its type must fit the field and the comparator.
        public var value: FieldValue
        /// Whether the value's type was declared; a guessed one is replaced by the field's own.
        public var isTypeDeclared: Bool
        /// Metres; only with ``Comparator/near``.
        public var distanceMetres: Double?

        /// Makes a condition.
        ///
        /// - Parameters:
        ///   - isTypeDeclared: Whether the value's type counts; if false, the value is read as the field's type.
        ///   - distanceMetres: Required by ``Comparator/near``.
        public init(
            _ comparator: Comparator, _ field: FieldName, _ value: FieldValue,
            isTypeDeclared: Bool = true, distanceMetres: Double? = nil
        ) {
            self.comparator = comparator
            self.field = field
            self.value = value
            self.isTypeDeclared = isTypeDeclared
            self.distanceMetres = distanceMetres
        }
    }

    /// How a field is compared. The raw values are the protocol's words.
    public enum Comparator: String, WireWord, Hashable, Sendable, CaseIterable {
        /// The field's value is the filter's; for text, case counts. Not for lists.
        case equals = "EQUALS"
        /// The opposite of ``equals``: also holds for a record without the field.
        case notEquals = "NOT_EQUALS"
        /// The field's value comes before the filter's. Not for lists, locations and assets.
        case lessThan = "LESS_THAN"
        /// The field's value is the filter's or comes before it. Not for lists, locations and assets.
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        /// The field's value comes after the filter's. Not for lists, locations and assets.
        case greaterThan = "GREATER_THAN"
        /// The field's value is the filter's or comes after it. Not for lists, locations and assets.
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        /// The location, or one of a list, is at most ``Filter/distanceMetres`` from the filter's location.
        case near = "NEAR"
        /// The searched fields together have all words of the filter's string; a string without words finds nothing.
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        /// The searched fields have at least one word of the filter's string.
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        /// The field's value is a member of the filter's list. Not for lists.
        case `in` = "IN"
        /// The opposite of `in`: also holds for a record without the field.
        case notIn = "NOT_IN"
        /// The list has the filter's value as a member.
        case listContains = "LIST_CONTAINS"
        /// The opposite of ``listContains``: also holds for a record without the field.
        case notListContains = "NOT_LIST_CONTAINS"
        /// The list has a member of the filter's list. In CloudKit JS, not in Apple's web-services reference.
        case listContainsAny = "LIST_CONTAINS_ANY"
        /// The opposite of ``listContainsAny``: also holds for a record without the field.
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        /// The list has all members of the filter's list.
        case listContainsAll = "LIST_CONTAINS_ALL"
        /// The opposite of ``listContainsAll``: also holds for a record without the field.
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        /// The string begins with the filter's string; case counts.
        case beginsWith = "BEGINS_WITH"
        /// The opposite of ``beginsWith``: also holds for a record without the field.
        case notBeginsWith = "NOT_BEGINS_WITH"
        /// A member of the list of strings begins with the filter's string.
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        /// The opposite of ``listMemberBeginsWith``: also holds for a record without the field.
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
    }

    /// One key of the order.
    public struct Sort: Hashable, Sendable {
        /// The field to sort by; with ``relativeLocation`` a location.
        public var field: FieldName
        /// Sorts by the distance from this location.
        public var relativeLocation: Location?
        /// Whether the smallest value comes first. The service refuses a descending sort by distance.
        public var isAscending: Bool

        /// Makes a sort key.
        public init(_ field: FieldName, isAscending: Bool = true, relativeLocation: Location? = nil)
        {
            self.field = field
            self.isAscending = isAscending
            self.relativeLocation = relativeLocation
        }
    }

    /// A field in a query, however it was spelled.
    public enum FieldName: Hashable, Sendable {
        /// A field of the record type; empty for all searchable fields, as in ``anySearchable``.
        case user(String)
        /// A field that every record has; written as `systemFieldName`.
        case system(SystemField)
    }

    /// The fields that every record has.
    public enum SystemField: String, WireWord, Hashable, Sendable, CaseIterable {
        /// The record's name, `___recordID` in the schema language.
        case recordName
        /// The record's share, if it is the root of one, `___share` in the schema language; only in filters.
        case share
        /// The record's parent, `___parent` in the schema language; only in filters.
        case parent
        /// The user who created the record, `___createdBy` in the schema language.
        case createdUserRecordName
        /// When the record was created, `___createTime` in the schema language.
        case createdTimestamp
        /// When the record was last changed, `___modTime` in the schema language.
        case modifiedTimestamp
        /// The user who last changed the record, `___modifiedBy` in the schema language.
        case modifiedUserRecordName
    }
}

extension QueryDictionary.Comparator {
    /// Reads CloudKit's words, and one that other clients send.
    public init?(word: String) {
        self.init(rawValue: word == "CONTAINS_ANY" ? "LIST_CONTAINS_ANY" : word)
    }
}

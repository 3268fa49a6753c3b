import StratusRecords

/// A query as the protocol writes it: a type, filters that must all hold, and an order.
public struct QueryDictionary: Hashable, Sendable {
    public var recordType = ""
    public var filterBy: [Filter] = []
    public var sortBy: [Sort] = []

    public init(recordType: String, filterBy: [Filter] = [], sortBy: [Sort] = []) {
        self.recordType = recordType
        self.filterBy = filterBy
        self.sortBy = sortBy
    }

    public init() {}

    /// One condition.
    public struct Filter: Hashable, Sendable {
        public var comparator: Comparator
        public var field: FieldName
        public var value: FieldValue
        /// Whether the value's type was declared; a guessed one is replaced by the field's own.
        public var isTypeDeclared: Bool
        /// Metres; only with ``Comparator/near``.
        public var distanceMetres: Double?

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
        case equals = "EQUALS"
        case notEquals = "NOT_EQUALS"
        case lessThan = "LESS_THAN"
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        case greaterThan = "GREATER_THAN"
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        case near = "NEAR"
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        case `in` = "IN"
        case notIn = "NOT_IN"
        case listContains = "LIST_CONTAINS"
        case notListContains = "NOT_LIST_CONTAINS"
        case listContainsAny = "LIST_CONTAINS_ANY"
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        case listContainsAll = "LIST_CONTAINS_ALL"
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        case beginsWith = "BEGINS_WITH"
        case notBeginsWith = "NOT_BEGINS_WITH"
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
    }

    /// One key of the order.
    public struct Sort: Hashable, Sendable {
        public var field: FieldName
        /// Sorts by the distance from this location.
        public var relativeLocation: Location?
        public var isAscending: Bool

        public init(_ field: FieldName, isAscending: Bool = true, relativeLocation: Location? = nil)
        {
            self.field = field
            self.isAscending = isAscending
            self.relativeLocation = relativeLocation
        }
    }

    /// A field in a query, however it was spelled.
    public enum FieldName: Hashable, Sendable {
        case user(String)
        case system(SystemField)
    }

    /// The fields that every record has.
    public enum SystemField: String, WireWord, Hashable, Sendable, CaseIterable {
        case recordName
        case share
        case parent
        case createdUserRecordName
        case createdTimestamp
        case modifiedTimestamp
        case modifiedUserRecordName
    }
}

extension QueryDictionary.Comparator {
    /// Reads CloudKit's words, and one that other clients send.
    public init?(word: String) {
        self.init(rawValue: word == "CONTAINS_ANY" ? "LIST_CONTAINS_ANY" : word)
    }
}

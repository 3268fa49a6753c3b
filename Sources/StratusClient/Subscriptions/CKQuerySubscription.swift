import Foundation
import StratusRecords
import StratusWire

/// Tells of records of one type that a predicate holds of.
///
/// `@unchecked Sendable`: the predicate is never changed, the rest is behind the base's state.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let firesOnRecordCreation = Self(rawValue: 1 << 0)
        public static let firesOnRecordUpdate = Self(rawValue: 1 << 1)
        public static let firesOnRecordDeletion = Self(rawValue: 1 << 2)
        /// The subscription ends with its first notification.
        public static let firesOnce = Self(rawValue: 1 << 3)
    }

    public let predicate: NSPredicate
    public let querySubscriptionOptions: Options
    private let expression: PredicateExpression

    init(_ identifier: ID, predicate: NSPredicate, options: Options, _ state: State) {
        self.predicate = predicate
        expression = predicate.expression
        querySubscriptionOptions = options
        super.init(.query, subscriptionID: identifier, state: state)
    }

    /// - Parameter options: at least one occasion, or the save fails with `CKError.invalidArguments`.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        subscriptionID: CKSubscription.ID,
        options: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            subscriptionID, predicate: predicate, options: options, State(recordType: recordType))
    }

    @available(*, deprecated, message: "Give the subscription an identifier.")
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        options: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString,
            options: options)
    }

    public var recordType: CKRecord.RecordType? { state.withLock { $0.recordType } }

    /// Nil is all zones of the database.
    public var zoneID: CKRecordZone.ID? {
        get { state.withLock { $0.zoneID } }
        set { state.withLock { $0.zoneID = newValue } }
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        CKQuerySubscription(
            subscriptionID, predicate: predicate, options: querySubscriptionOptions,
            state.withLock { $0 })
    }

    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(expression.archived, forKey: "predicate")
        coder.encode(Int64(querySubscriptionOptions.rawValue), forKey: "options")
    }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "predicate"),
            let tree = coder.decodeObject(of: NSCoder.valueClasses, forKey: "predicate"),
            let expression = PredicateExpression(archived: tree)
        else { return nil }
        self.expression = expression
        predicate = NSPredicate(expression)
        querySubscriptionOptions = Options(
            rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "options")))
        super.init(coder: coder)
    }

    override func dictionary(_ translation: QueryTranslation) throws -> SubscriptionDictionary {
        var occasions: [SubscriptionDictionary.Occasion] = []
        if querySubscriptionOptions.contains(.firesOnRecordCreation) { occasions.append(.create) }
        if querySubscriptionOptions.contains(.firesOnRecordUpdate) { occasions.append(.update) }
        if querySubscriptionOptions.contains(.firesOnRecordDeletion) { occasions.append(.delete) }
        guard !occasions.isEmpty else {
            throw CKError(
                .invalidArguments, "Let the query subscription fire on at least one occasion.")
        }
        guard let filters = try translation.filters(expression) else {
            throw CKError(.invalidArguments, "Subscribe to something: nothing satisfies the query.")
        }
        let state = state.withLock { $0 }
        return SubscriptionDictionary(
            subscriptionID: subscriptionID, kind: .query, zoneID: state.zoneID?.dictionary,
            query: QueryDictionary(recordType: state.recordType ?? "", filterBy: filters),
            firesOn: occasions, firesOnce: querySubscriptionOptions.contains(.firesOnce),
            isZoneWide: state.zoneID == nil,
            notificationInfo: state.notificationInfo?.dictionary)
    }
}

extension PredicateExpression {
    /// The predicate that filters were made of, as far as filters tell.
    init(filters: [QueryDictionary.Filter], reader: inout RecordReader) {
        let members = filters.map { filter -> PredicateExpression in
            let key: String =
                switch filter.field {
                case .user(let name): name
                case .system(let field): field.frameworkKey
                }
            guard let (operation, isNegated, isAny) = Self.operations[filter.comparator] else {
                return .unreadable("The service's filter \(filter.comparator.rawValue) is unknown.")
            }
            let value = reader.stored(filter.value, in: .default)
            let comparison = PredicateExpression.comparison(
                PredicateComparison(
                    left: .key(key), operation: operation, right: .value(value), isAny: isAny))
            return isNegated ? .not(comparison) : comparison
        }
        self = members.isEmpty ? .all : members.count == 1 ? members[0] : .and(members)
    }

    private static let operations:
        [QueryDictionary.Comparator: (PredicateComparison.Operation, Bool, Bool)] = [
            .equals: (.equals, false, false), .notEquals: (.notEquals, false, false),
            .lessThan: (.less, false, false), .lessThanOrEquals: (.lessOrEqual, false, false),
            .greaterThan: (.greater, false, false),
            .greaterThanOrEquals: (.greaterOrEqual, false, false), .in: (.in, false, false),
            .notIn: (.in, true, false), .listContains: (.contains, false, false),
            .notListContains: (.contains, true, false), .listContainsAny: (.in, false, true),
            .notListContainsAny: (.in, true, true), .beginsWith: (.beginsWith, false, false),
            .notBeginsWith: (.beginsWith, true, false),
        ]
}

extension QueryDictionary.SystemField {
    fileprivate var frameworkKey: String {
        switch self {
        case .recordName: CKRecord.SystemFieldKey.recordID
        case .share: CKRecord.SystemFieldKey.share
        case .parent: CKRecord.SystemFieldKey.parent
        case .createdUserRecordName: CKRecord.SystemFieldKey.creatorUserRecordID
        case .createdTimestamp: CKRecord.SystemFieldKey.creationDate
        case .modifiedTimestamp: CKRecord.SystemFieldKey.modificationDate
        case .modifiedUserRecordName: CKRecord.SystemFieldKey.lastModifiedUserRecordID
        }
    }
}

@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options

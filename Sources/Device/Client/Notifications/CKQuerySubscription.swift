import Foundation
import StratusRecords
import StratusWire

/// A subscription to records of one type that match a predicate.
///
/// ```swift
/// let subscription = CKQuerySubscription(
///     recordType: "Trail", predicate: NSPredicate(format: "region == %@", "Alps"),
///     subscriptionID: "alps", options: .firesOnRecordCreation)
/// try await container.publicCloudDatabase.save(subscription)
/// ```
///
/// `@unchecked Sendable`: the predicate is never changed; all other state is in the mutex `state`
/// of `CKSubscription`.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// The changes on which a query subscription fires, and whether it fires only once.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Fires when a record is created that matches the predicate.
        public static let firesOnRecordCreation = Self(rawValue: 1 << 0)
        /// Fires when a record is changed and matches the predicate afterwards.
        public static let firesOnRecordUpdate = Self(rawValue: 1 << 1)
        /// Fires when a record is deleted that matched the predicate.
        public static let firesOnRecordDeletion = Self(rawValue: 1 << 2)
        /// The subscription ends with its first notification.
        public static let firesOnce = Self(rawValue: 1 << 3)

        static let occasions: Self = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    }

    /// The condition for records. Saving fails with `CKError.invalidArguments` if CloudKit does not
    /// support the predicate.
    public let predicate: NSPredicate
    /// The changes on which the subscription fires, and whether it fires only once.
    public let querySubscriptionOptions: Options

    init(_ identifier: ID, predicate: NSPredicate, options: Options, _ state: State) {
        self.predicate = predicate
        querySubscriptionOptions = options
        super.init(.query, subscriptionID: identifier, state: state)
    }

    /// - Precondition: the options have at least one kind of change. Source: Apple's page
    ///   "querySubscriptionOptions".
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate,
        subscriptionID: CKSubscription.ID,
        options: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        precondition(
            !options.isDisjoint(with: Options.occasions),
            "The query subscription has no firing option; give it at least one.")
        self.init(
            subscriptionID, predicate: predicate, options: options, State(recordType: recordType))
    }

    /// Makes a subscription with a new UUID as its ID.
    ///
    /// Saving it again under another ID fails with `CKError.serverRejectedRequest`.
    ///
    /// - Precondition: the options have at least one kind of change.
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

    /// The type of the records; nil only if the service did not say.
    public var recordType: CKRecord.RecordType? { state.withLock { $0.recordType } }

    /// The zone of the records; nil for all zones of the database.
    public var zoneID: CKRecordZone.ID? {
        get { state.withLock { $0.zoneID } }
        set { state.withLock { $0.zoneID = newValue } }
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        CKQuerySubscription(
            subscriptionID, predicate: predicate, options: querySubscriptionOptions, copiedState)
    }

    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.archive(tree: predicate.expression.archived, "predicate")
        coder.encode(
            Int64(truncatingIfNeeded: querySubscriptionOptions.rawValue), forKey: "options")
    }

    /// Reads an archived subscription; nil if the archive has no readable predicate.
    public required init?(coder: NSCoder) {
        guard let tree = coder.archivedTree("predicate"),
            let expression = PredicateExpression(archived: tree)
        else { return nil }
        predicate = FormatPredicate(expression)
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
                .invalidArguments,
                "The query subscription \(subscriptionID) has no firing option; give it at least one."
            )
        }
        guard let filters = try translation.filters(predicate.expression) else {
            throw CKError(
                .invalidArguments,
                "No record can match the query of the subscription \(subscriptionID); use another"
                    + " predicate.")
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
    /// Makes the predicate from the filters of an answer.
    init(filters: [QueryDictionary.Filter], reader: inout RecordReader) {
        let members = filters.map { PredicateExpression(filter: $0, reader: &reader) }
        self = members.isEmpty ? .all : members.count == 1 ? members[0] : .and(members)
    }

    private init(filter: QueryDictionary.Filter, reader: inout RecordReader) {
        let key: String =
            switch filter.field {
            case .user(let name): name
            case .system(let field): field.frameworkKey
            }
        let value = PredicateOperand.value(reader.stored(filter.value, in: .default))
        switch filter.comparator {
        case .near:
            self = .comparison(
                PredicateComparison(
                    left: .distance(.key(key), value), operation: .lessOrEqual,
                    right: .value(StoredValue(filter.distanceMetres))))
        case .containsAllTokens:
            let isAnywhere = filter.field == .anySearchable
            self = .comparison(
                PredicateComparison(
                    left: .key(isAnywhere ? "allTokens" : key), operation: .tokenMatches,
                    right: value))
        case .listContainsAll, .notListContainsAll, .listContainsAny, .notListContainsAny:
            let isAll =
                filter.comparator == .listContainsAll || filter.comparator == .notListContainsAll
            let comparison = PredicateExpression.comparison(
                PredicateComparison(
                    left: value, operation: .in, right: .key(key),
                    quantifier: isAll ? .all : .any))
            let isNegated =
                filter.comparator == .notListContainsAll
                || filter.comparator == .notListContainsAny
            self = isNegated ? .not(comparison) : comparison
        default:
            guard let (operation, isNegated, quantifier) = Self.operations[filter.comparator]
            else {
                self = .unreadable(
                    "The service's filter \(filter.comparator.rawValue) is unknown; update the app."
                )
                return
            }
            let comparison = PredicateExpression.comparison(
                PredicateComparison(
                    left: .key(key), operation: operation, right: value, quantifier: quantifier))
            self = isNegated ? .not(comparison) : comparison
        }
    }

    private static let operations:
        [QueryDictionary.Comparator: (
            PredicateComparison.Operation, Bool, PredicateComparison.Quantifier
        )] = [
            .equals: (.equals, false, .none), .notEquals: (.notEquals, false, .none),
            .lessThan: (.less, false, .none), .lessThanOrEquals: (.lessOrEqual, false, .none),
            .greaterThan: (.greater, false, .none),
            .greaterThanOrEquals: (.greaterOrEqual, false, .none), .in: (.in, false, .none),
            .notIn: (.in, true, .none), .listContains: (.contains, false, .none),
            .notListContains: (.contains, true, .none), .beginsWith: (.beginsWith, false, .none),
            .notBeginsWith: (.beginsWith, true, .none),
            .listMemberBeginsWith: (.beginsWith, false, .any),
            .notListMemberBeginsWith: (.beginsWith, true, .any),
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

/// The older name of ``CKQuerySubscription/Options``.
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options

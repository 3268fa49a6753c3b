import Foundation
import StratusRecords
import StratusWire
import Synchronization

/// A subscription to changes; the base class of the three kinds.
public class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // `@unchecked Sendable`: all mutable state, also of the subclasses, is in the mutex `state`.
    /// The ID of a subscription, chosen by the app: 1 to 255 bytes, unique for a user and database.
    public typealias ID = String
    /// The content of a subscription's notifications; see ``CKNotificationInfo``.
    public typealias NotificationInfo = CKNotificationInfo

    /// The kind of a subscription, which is also its class.
    public enum SubscriptionType: Int, Sendable {
        /// A ``CKQuerySubscription``, for the public and the private database.
        case query = 1
        /// A ``CKRecordZoneSubscription``, for custom zones of the private database.
        case recordZone = 2
        /// A ``CKDatabaseSubscription``, for the private and the shared database.
        case database = 3
    }

    struct State: Sendable {
        var notificationInfo: CKNotificationInfo?
        var zoneID: CKRecordZoneID?
        var recordType: CKRecord.RecordType?
    }

    /// Identifies the subscription among those of the user in the database.
    public let subscriptionID: ID
    /// The kind of the subscription, which is also its class.
    public let subscriptionType: SubscriptionType
    let state: Mutex<State>

    init(_ type: SubscriptionType, subscriptionID: ID, state: State) {
        subscriptionType = type
        self.subscriptionID = subscriptionID
        self.state = Mutex(state)
    }

    /// The content of the notifications; nil makes them silent.
    public var notificationInfo: NotificationInfo? {
        get { state.withLock { $0.notificationInfo } }
        set {
            let info = newValue.map { CKNotificationInfo($0.dictionary) }
            state.withLock { $0.notificationInfo = info }
        }
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKSubscription else { return false }
        return subscriptionID == other.subscriptionID && subscriptionType == other.subscriptionType
    }

    public override var hash: Int { subscriptionID.hashValue }

    public override var description: String {
        "<CKSubscription: \(subscriptionType) \(subscriptionID)>"
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKSubscription(subscriptionType, subscriptionID: subscriptionID, state: copiedState)
    }

    /// The state of a copy, whose notification info is its own.
    var copiedState: State {
        var state = state.withLock { $0 }
        state.notificationInfo = state.notificationInfo.map { CKNotificationInfo($0.dictionary) }
        return state
    }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        let state = state.withLock { $0 }
        coder.archive(subscriptionID, "subscriptionID")
        coder.encode(Int64(subscriptionType.rawValue), forKey: "subscriptionType")
        coder.archive(state.notificationInfo, "notificationInfo")
        coder.archive(state.zoneID, "zoneID")
        coder.archive(state.recordType, "recordType")
    }

    public required init?(coder: NSCoder) {
        let type = Int(coder.decodeInt64(forKey: "subscriptionType"))
        guard let subscriptionID = coder.archivedString("subscriptionID"),
            let subscriptionType = SubscriptionType(rawValue: type)
        else { return nil }
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        state = Mutex(
            State(
                notificationInfo: coder.archivedObject(
                    CKNotificationInfo.self, "notificationInfo"),
                zoneID: coder.archivedObject(CKRecordZoneID.self, "zoneID"),
                recordType: coder.archivedString("recordType")))
    }

    // MARK: Wire

    /// The subscription in the protocol's form.
    func dictionary(_ translation: QueryTranslation) throws -> SubscriptionDictionary {
        let state = state.withLock { $0 }
        return SubscriptionDictionary(
            subscriptionID: subscriptionID, kind: subscriptionType == .database ? .database : .zone,
            zoneID: state.zoneID?.dictionary, recordType: state.recordType,
            notificationInfo: state.notificationInfo?.dictionary)
    }

    static func read(
        _ dictionary: SubscriptionDictionary, reader: inout RecordReader
    ) throws -> CKSubscription {
        guard let identifier = dictionary.subscriptionID, let kind = dictionary.kind else {
            throw CKError(
                .internalError,
                "The service returned a subscription without an identifier or kind; update the service."
            )
        }
        let state = State(
            notificationInfo: dictionary.notificationInfo.map { CKNotificationInfo($0) },
            zoneID: dictionary.zoneID.map { reader.zoneID($0) },
            recordType: dictionary.recordType ?? dictionary.query?.recordType)
        switch kind {
        case .database: return CKDatabaseSubscription(identifier, state)
        case .zone:
            guard state.zoneID != nil else {
                throw CKError(
                    .internalError,
                    "The service returned the zone subscription \(identifier) without its zone; update"
                        + " the service.")
            }
            return CKRecordZoneSubscription(identifier, state)
        case .query:
            var options: CKQuerySubscription.Options = dictionary.firesOnce ? [.firesOnce] : []
            if dictionary.firesOn.contains(.create) { options.insert(.firesOnRecordCreation) }
            if dictionary.firesOn.contains(.update) { options.insert(.firesOnRecordUpdate) }
            if dictionary.firesOn.contains(.delete) { options.insert(.firesOnRecordDeletion) }
            let expression = PredicateExpression(
                filters: dictionary.query?.filterBy ?? [], reader: &reader)
            return CKQuerySubscription(
                identifier, predicate: FormatPredicate(expression), options: options, state)
        }
    }
}

/// The older name of ``CKSubscription/SubscriptionType``.
@available(*, deprecated, renamed: "CKSubscription.SubscriptionType")
public typealias CKSubscriptionType = CKSubscription.SubscriptionType

import Foundation

/// A subscription to changes in all custom zones of the private or shared database.
///
/// ```swift
/// let subscription = CKDatabaseSubscription(subscriptionID: "everything")
/// let info = CKSubscription.NotificationInfo()
/// info.shouldSendContentAvailable = true
/// subscription.notificationInfo = info
/// try await container.privateCloudDatabase.save(subscription)
/// ```
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    // `@unchecked Sendable`: all mutable state is in the mutex `state` of `CKSubscription`.
    init(_ identifier: ID, _ state: State) {
        super.init(.database, subscriptionID: identifier, state: state)
    }

    /// Makes a subscription with a new UUID as its ID.
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    /// Makes a subscription; when it is saved, it replaces a stored one with the same ID.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID, State())
    }

    /// Reads an archived subscription.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
    }

    /// The type of the records; nil for all types.
    public var recordType: CKRecord.RecordType? {
        get { state.withLock { $0.recordType } }
        set { state.withLock { $0.recordType = newValue } }
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(subscriptionID, copiedState)
    }
}

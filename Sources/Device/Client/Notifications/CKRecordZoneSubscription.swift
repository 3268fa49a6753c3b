import Foundation

/// A subscription to changes in one zone of the private database.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    // `@unchecked Sendable`: all mutable state is in the mutex `state` of `CKSubscription`.
    init(_ identifier: ID, _ state: State) {
        super.init(.recordZone, subscriptionID: identifier, state: state)
    }

    /// Makes a subscription to the changes in a zone.
    ///
    /// - Parameter zoneID: a custom zone; with the default zone, saving fails with
    ///   `CKError.invalidArguments`.
    /// - Parameter subscriptionID: a new UUID unless given; saving replaces a stored subscription
    ///   with the same ID.
    public convenience init(
        zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID = UUID().uuidString
    ) {
        self.init(subscriptionID, State(zoneID: zoneID))
    }

    /// Reads an archived subscription; nil if the archive names no zone.
    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "zoneID") else { return nil }
        super.init(coder: coder)
    }

    /// The zone whose changes cause notifications.
    public var zoneID: CKRecordZone.ID { state.withLock { $0.zoneID } ?? .default }

    /// The type of the records; nil for all types.
    public var recordType: CKRecord.RecordType? {
        get { state.withLock { $0.recordType } }
        set { state.withLock { $0.recordType = newValue } }
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZoneSubscription(subscriptionID, copiedState)
    }
}

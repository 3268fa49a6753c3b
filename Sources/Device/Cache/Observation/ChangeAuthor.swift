import StratusClient

/// Who changed a record, as far as this device knows.
public enum ChangeAuthor: Hashable, Sendable {
    /// The app on this device, in this process or another.
    case thisDevice
    /// The same user on another device.
    case otherDevice
    /// Another person, with whom the record is shared.
    case person(CKRecord.ID)
    /// The service does not say who deletes.
    case unknown
}

/// What happened to one record between two updates.
public struct RecordChange: Hashable, Sendable {
    /// The record that entered the query's results, changed there, or left them.
    public var recordID: CKRecord.ID
    /// What the change did to the query's results.
    public var kind: Kind
    /// Who made the last change since the last update.
    public var author: ChangeAuthor

    /// What a change did to a query's results.
    public enum Kind: Hashable, Sendable {
        /// The record matches now and did not before.
        case inserted
        /// The record still matches; its content or its place in the order has changed.
        case changed
        /// The record no longer matches, or is no longer on this device.
        case removed
    }
}

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

/// What became of one record between two updates.
public struct RecordChange: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// It is among the matches now, and was not.
        case inserted
        /// It is among the matches as before, and is not the same or not at the same place.
        case changed
        /// It is not among the matches any more, or not on this device.
        case removed
    }

    public var recordID: CKRecord.ID
    public var kind: Kind
    /// Of several changes since the last update, the last one's.
    public var author: ChangeAuthor
}

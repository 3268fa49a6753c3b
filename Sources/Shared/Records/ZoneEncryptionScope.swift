/// The scope of a key for a zone's encrypted values. The raw values are stored, and those of the protocol.
public enum ZoneEncryptionScope: String, Hashable, Sendable {
    /// Single hierarchies of the zone can be shared, or the zone as a whole.
    case perRecord = "PER_RECORD"
    /// The zone can only be shared as a whole.
    case perZone = "PER_ZONE"
}

/// How far a key of a zone's encrypted values reaches. The raw values are stored, and the protocol's.
public enum ZoneEncryptionScope: String, Hashable, Sendable {
    /// Single hierarchies of the zone can be shared, or the zone as a whole.
    case perRecord = "PER_RECORD"
    /// The zone can be shared as a whole only.
    case perZone = "PER_ZONE"
}

import StratusRecords

/// `zones/changes`: which zones changed since a token. Deprecated: ``ChangesDatabase`` has the same answer, with
/// another name for the token.
public enum ZonesChanges: DatabaseChanges {
    public static let path = "zones/changes"
    public static let tokenKey: StaticString = "metaSyncToken"

    public typealias Request = DatabaseChangesRequest<Self>
    public typealias Answer = DatabaseChangesAnswer<Self>
}

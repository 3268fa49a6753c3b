import StratusRecords

/// `zones/lookup`: fetches zones by name.
public enum ZonesLookup: Endpoint {
    public static let path = "zones/lookup"

    public typealias Request = ListBody<ZoneIDDictionary>

    public typealias Answer = ZonesList.Answer
}

import StratusRecords

/// `changes/database`: which zones changed since a token.
public enum ChangesDatabase: DatabaseChanges {
    public static let path = "changes/database"
    public static let tokenKey: StaticString = "syncToken"

    public typealias Request = DatabaseChangesRequest<Self>
    public typealias Answer = DatabaseChangesAnswer<Self>
}

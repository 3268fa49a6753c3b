import StratusRecords

/// `users/signout`: ends the caller's session; its web-auth tokens are no good any more.
///
/// An extension: CloudKit JS forgets its token and tells nobody.
public enum UsersSignOut: Endpoint {
    public static let path = "users/signout"

    public typealias Request = EmptyBody
    public typealias Answer = EmptyBody

    public static let requestWithoutBody: Request? = EmptyBody()
}

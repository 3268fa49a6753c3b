import StratusRecords

/// `users/signout`: ends the caller's session; its web-auth tokens become invalid.
///
/// An extension: CloudKit JS only drops its token and does not notify the service.
public enum UsersSignOut: Endpoint {
    public static let path = "users/signout"

    public typealias Request = EmptyBody
    public typealias Answer = EmptyBody

    public static let requestWithoutBody: Request? = EmptyBody()
}

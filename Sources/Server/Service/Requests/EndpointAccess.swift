/// What a caller needs for an endpoint. Everything in the private and shared databases needs a user.
public enum EndpointAccess: Hashable, Sendable {
    /// An API token is enough to read the public database.
    case read
    /// A user, for every database.
    case user
}

/// Whether a request may be repeated, and whether its caller's session continues.
public enum EndpointEffect: Hashable, Sendable {
    /// A signed request may be repeated: it only reads, or its first outcome is known.
    case idempotent
    /// A signed request is accepted once.
    case once
    /// As ``once``, and the caller's web-auth token is invalid afterwards.
    case endsSession
}

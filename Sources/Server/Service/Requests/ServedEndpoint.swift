import StratusRecords
import StratusWire

/// An endpoint that the service answers. The conformances are in the files of the same names, and define everything
/// that is particular to an endpoint; no rule has a default, so that none is forgotten.
public protocol ServedEndpoint: Endpoint {
    /// The rules for every request of the endpoint.
    static var rules: EndpointRules<Self> { get }

    /// Checks a request and answers it.
    static func answer(_ call: EndpointCall<Self>) async throws -> Answer
}

/// One request to an endpoint, with all that answers it. Only the endpoint itself sees it: a rule gets the few values
/// and parts that it needs.
public struct EndpointCall<E: ServedEndpoint>: Sendable {
    /// The typed request.
    let request: E.Request
    /// The caller, the container and database, and the time.
    var context: RequestContext
    /// The parts of the service.
    let components: ServiceComponents

    fileprivate init(
        _ request: E.Request, in context: RequestContext, with components: ServiceComponents
    ) {
        self.request = request
        self.context = context
        self.components = components
    }

    /// What another endpoint answers to the same caller.
    func answer<Other: ServedEndpoint>(
        _ endpoint: Other.Type, _ request: Other.Request
    ) async throws -> Other.Answer {
        try await Other.answer(EndpointCall<Other>(request, in: context, with: components))
    }
}

/// Makes the calls to a service's endpoints. It shows none of the service's parts.
struct EndpointCalls: Sendable {
    private let components: ServiceComponents

    init(_ components: ServiceComponents) {
        self.components = components
    }

    func call<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) -> EndpointCall<E> {
        EndpointCall(request, in: context, with: components)
    }
}

/// The rules for every request of an endpoint.
public struct EndpointRules<E: ServedEndpoint>: Sendable {
    /// Whether an API token is enough for the public database, or the endpoint always needs a user.
    let access: EndpointAccess
    /// Whether requests may be repeated, and whether the session continues.
    let effect: EndpointEffect
    /// Whether a server may send answers in gzip: large ones whose secrets cannot be compared with a text that an
    /// attacker chose (decision 26).
    package let isCompressed: Bool
    /// What a request costs its sender, in requests, in addition to itself.
    ///
    /// In proportion to the work: saving a record takes about as long as reading four.
    let cost: @Sendable (E.Request) -> Double
    /// The zones that a request names; a fault of the fault script can be limited to one.
    let zones: @Sendable (E.Request) -> Set<String>
    /// Adds addresses to the records of an answer, for their assets.
    let link: @Sendable (inout E.Answer, inout AssetLinks) -> Void
}

/// An endpoint's answer, and the caller's next web-auth token.
public struct ServedAnswer<Answer: WireValue>: Hashable, Sendable {
    /// The typed answer of the endpoint, with its errors of single items.
    public var answer: Answer
    /// Replaces the token that came with the request; nil when none came.
    public var rotatedWebAuthToken: String?

    init(_ answer: Answer, rotatedWebAuthToken: String?) {
        self.answer = answer
        self.rotatedWebAuthToken = rotatedWebAuthToken
    }
}

/// What a caller needs for an endpoint. Everything in the private and shared databases needs a user.
public enum EndpointAccess: Hashable, Sendable {
    /// An API token is enough to read the public database.
    case read
    /// A user, for every database.
    case user
}

/// Whether a request may be repeated, and whether its caller's session continues.
public enum EndpointEffect: Hashable, Sendable {
    /// A signed request may be repeated: it only reads, or its first outcome is known.
    case idempotent
    /// A signed request is accepted once.
    case once
    /// As ``once``, and the caller's web-auth token is invalid afterwards.
    case endsSession
}

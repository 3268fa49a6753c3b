import StratusRecords
import StratusSchema
import StratusWire

/// Requests that the service makes in a user's name, for an account's archive and its deletion: the endpoints' own
/// rules apply, and no client waits for them.
struct OwnRequests: Sendable {
    let databases: Databases
    let schemas: SchemaCache
    let calls: EndpointCalls

    func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) async throws -> E.Answer {
        try await E.answer(calls.call(endpoint, request, in: context))
    }
}

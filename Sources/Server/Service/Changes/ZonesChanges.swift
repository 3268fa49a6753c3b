import StratusRecords
import StratusStorage
import StratusWire

extension ZonesChanges: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: ChangesDatabase.rules.access, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 },
        zones: { _ in [] }, link: { _, _ in })

    /// The same feed as ``ChangesDatabase``, with another name for the token.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        // Allowed in the public database too, although it has no zones to list.
        let answer = try await ChangesDatabase.answer(
            .init(syncToken: call.request.syncToken, resultsLimit: call.request.resultsLimit),
            in: call.context,
            call.components.databases, try await call.components.tokenSigner(),
            call.components.settings.logger)
        return Answer(
            zones: answer.zones, syncToken: answer.syncToken, moreComing: answer.moreComing)
    }
}

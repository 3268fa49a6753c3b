import StratusRecords
import StratusStorage
import StratusWire

extension ZonesChanges: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: ChangesDatabase.rules.access, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    /// The same feed as ``ChangesDatabase``, with another name for the token.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        // Allowed in the public database too, although it has no zones to list.
        let answer = try await ChangesDatabase.answer(
            .init(syncToken: request.syncToken, resultsLimit: request.resultsLimit), in: context,
            components.databases, try await components.tokenSigner(), components.settings.logger)
        return Answer(
            zones: answer.zones, syncToken: answer.syncToken, moreComing: answer.moreComing)
    }
}

import StratusRecords
import StratusStorage
import StratusWire

extension ZonesChanges: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: ChangesDatabase.rules.access, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    /// The same feed as that of ``ChangesDatabase``, under the token's other name.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        // In the public database too, which has no zones to be told of.
        let answer = try await ChangesDatabase.answer(
            .init(syncToken: request.syncToken, resultsLimit: request.resultsLimit), in: context,
            components.databases, try await components.tokenSigner(), components.settings.logger)
        return Answer(
            zones: answer.zones, syncToken: answer.syncToken, moreComing: answer.moreComing)
    }
}

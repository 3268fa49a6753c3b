import StratusRecords
import StratusStorage
import StratusWire

extension ZonesChanges: ServedEndpoint {
    public static let access = ChangesDatabase.access
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.failing { $0.syncToken != nil }

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

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

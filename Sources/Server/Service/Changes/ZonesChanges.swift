import StratusRecords
import StratusStorage
import StratusWire

extension ZonesChanges: ServedEndpoint {
    public static let access = ChangesDatabase.access

    /// The same feed as that of ``ChangesDatabase``, under the token's other name.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        let answer = try await ChangesDatabase.answer(
            .init(syncToken: request.metaSyncToken, resultsLimit: request.resultsLimit),
            in: context)
        return Answer(
            zones: answer.zones, metaSyncToken: answer.syncToken, moreComing: answer.moreComing)
    }
}

import StratusRecords
import StratusStorage
import StratusWire

extension RecordsChanges: ServedEndpoint {
    public static let access = ChangesZone.access
    public static let endsSession = false
    public static let isRepeatable = true
    public static let expiredTokens = ExpiredTokens<Self>.failing { $0.syncToken != nil }

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [request.zoneID.zoneName] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {
        links.link(&answer.records)
    }

    /// The same feed as that of ``ChangesZone``, with the zone's error as the request's.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let item = ChangesZone.Item(
            zoneID: request.zoneID ?? ZoneIDDictionary(), syncToken: request.syncToken,
            resultsLimit: request.resultsLimit, desiredKeys: request.desiredKeys,
            isReversed: request.isReversed, numbersAsStrings: request.numbersAsStrings)
        let answer = try await ChangesZone.answer(
            .init(zones: [item]), in: context, with: components)
        switch answer.items.first {
        case .success(let page):
            return Answer(
                records: page.records, syncToken: page.syncToken, moreComing: page.moreComing)
        case .failure(let failure): throw failure.error
        case nil: throw ServiceError.zoneNotFound
        }
    }
}

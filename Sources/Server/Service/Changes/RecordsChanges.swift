import StratusRecords
import StratusStorage
import StratusWire

extension RecordsChanges: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: ChangesZone.rules.access, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { [$0.zoneID.zoneName] },
        link: { $1.link(&$0.records) })

    /// The same feed as ``ChangesZone``; an error of the zone is the request's error.
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

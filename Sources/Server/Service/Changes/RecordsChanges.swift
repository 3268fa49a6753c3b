import StratusRecords
import StratusStorage
import StratusWire

extension RecordsChanges: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: ChangesZone.rules.access, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { [$0.zoneID.zoneName] },
        link: { $1.link(&$0.records) })

    /// The same feed as ``ChangesZone``; an error of the zone is the request's error.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let item = ChangesZone.Item(
            zoneID: call.request.zoneID ?? ZoneIDDictionary(), syncToken: call.request.syncToken,
            resultsLimit: call.request.resultsLimit, desiredKeys: call.request.desiredKeys,
            isReversed: call.request.isReversed, numbersAsStrings: call.request.numbersAsStrings)
        let answer = try await call.answer(ChangesZone.self, .init(zones: [item]))
        switch answer.items.first {
        case .success(let page):
            return Answer(
                records: page.records, syncToken: page.syncToken, moreComing: page.moreComing)
        case .failure(let failure): throw failure.error
        case nil: throw ServiceError.zoneNotFound
        }
    }
}

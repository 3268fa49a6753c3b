import StratusWire
import Testing

/// `records/changes` and `zones/changes` as older clients use them.
@Suite struct OlderFeedsTests {
    @Test func recordsChangesRoundTrips() throws {
        let request = try readWire(
            RecordsChanges.Request.self,
            from: Array(
                #"{"zoneID":{"zoneName":"Trips"},"syncToken":"AQAB","resultsLimit":5,"#.utf8)
                + Array(#""desiredKeys":["name"],"numbersAsStrings":true,"reverse":null}"#.utf8))
        #expect(
            request
                == RecordsChanges.Request(
                    zoneID: ZoneIDDictionary(zoneName: "Trips"), syncToken: "AQAB",
                    resultsLimit: 5, desiredKeys: ["name"], numbersAsStrings: true))
        #expect(try readWire(RecordsChanges.Request.self, from: wireBytes(of: request)) == request)
        let answer = RecordsChanges.Answer(
            records: [.deleted(.init(recordName: "hut"))], syncToken: "AQAC", moreComing: false)
        #expect(
            String(decoding: wireBytes(of: answer), as: UTF8.self)
                == #"{"records":[{"recordName":"hut","deleted":true}],"syncToken":"AQAC","#
                + #""moreComing":false}"#)
        #expect(try readWire(RecordsChanges.Answer.self, from: wireBytes(of: answer)) == answer)
    }

    /// The token has a name of its own in both directions; another name is ignored.
    @Test func zonesChangesRoundTripsWithMetaSyncToken() throws {
        let request = try readWire(
            ZonesChanges.Request.self, from: Array(#"{"metaSyncToken":"AQAB"}"#.utf8))
        #expect(request.syncToken == "AQAB")
        #expect(try readWire(ZonesChanges.Request.self, from: wireBytes(of: request)) == request)
        let misnamed = try readWire(
            ZonesChanges.Request.self, from: Array(#"{"syncToken":"AQAB"}"#.utf8))
        #expect(misnamed.syncToken == nil)
        let answer = ZonesChanges.Answer(zones: [], syncToken: "AQAC", moreComing: true)
        #expect(
            String(decoding: wireBytes(of: answer), as: UTF8.self)
                == #"{"zones":[],"metaSyncToken":"AQAC","moreComing":true}"#)
        #expect(try readWire(ZonesChanges.Answer.self, from: wireBytes(of: answer)) == answer)
    }
}

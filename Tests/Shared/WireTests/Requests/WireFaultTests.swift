import StratusRecords
import StratusWire
import Testing

@Suite struct WireFaultTests {
    static let faults: [Fault] = [
        Fault(
            .answer(
                ServiceError(
                    .throttled, "Slow down.", retryAfterSeconds: 3,
                    frameworkCode: .requestRateLimited)),
            times: 2, operation: "records/modify", userRecordName: "_alice", zoneName: "Trips",
            container: "iCloud.org.example.Trails"),
        Fault(.delay(seconds: 1.5)),
        Fault(.dropBeforeCommit), Fault(.dropAfterCommit), Fault(.expireChangeTokens),
        Fault(.resetZone(.deleted), zoneName: "Trips"),
        Fault(.resetZone(.purged), zoneName: "Trips"),
        Fault(.resetZone(.encryptedDataReset), zoneName: "Trips"),
        Fault(.dropNotification, times: 1_000_000), Fault(.duplicateNotification),
    ]

    @Test(arguments: faults)
    func faultRoundTrips(_ fault: Fault) throws {
        #expect(try readWire(Fault.self, from: wireBytes(of: fault)) == fault)
    }

    @Test(arguments: [
        "{}", #"{"effect":"explode"}"#, #"{"effect":"answer"}"#, #"{"effect":"delay"}"#,
        #"{"effect":"delay","seconds":-1}"#, #"{"effect":"delay","seconds":1e9}"#,
        #"{"effect":"resetZone"}"#, #"{"effect":"resetZone","zoneName":"Z","deletionReason":"x"}"#,
        #"{"effect":"dropAfterCommit","times":0}"#, #"{"effect":"dropAfterCommit","times":1e9}"#,
    ])
    func malformedFaultIsRefused(_ text: String) {
        #expect(throws: WireError.self) { try readWire(Fault.self, from: Array(text.utf8)) }
    }
}

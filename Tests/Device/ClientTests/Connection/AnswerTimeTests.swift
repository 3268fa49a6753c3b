import Foundation
import Logging
import NIOHTTP1
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Synchronization
import TestServing
import Testing

@testable import StratusClient

/// What answers show about the service's clock.
@Suite struct AnswerTimeTests {
    @Test func timeHeaderHasMillisecondsAndDateWholeSeconds() {
        let date = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(
            AnswerTime(HTTPHeaders([date]))
                == AnswerTime(milliseconds: 784_111_777_000, stepMilliseconds: 1_000))
        #expect(
            AnswerTime(HTTPHeaders([date, ("X-Stratus-Time", "784111777123")]))
                == AnswerTime(milliseconds: 784_111_777_123))
        #expect(AnswerTime(HTTPHeaders([("Date", "yesterday")])) == nil)
    }

    /// Refusals contain the time too, and only the requesting task gets it.
    @Test func everyAnswerHasTheServicesTimeOverHTTP() async throws {
        try await withServer(.forDevelopment()) { port in
            let container = CKContainer(
                identifier: "iCloud.org.example.Trails",
                connection: CloudConnection(environmentVariables: [
                    "STRATUS_URL": "http://127.0.0.1:\(port)", "STRATUS_DEV_USER": "ida",
                ]))
            let received = Mutex<[AnswerTime]>([])
            let before = CloudConnection.World.live.nowMilliseconds()
            await AnswerTime.$listener.withValue(
                AnswerTime.Listener { time in received.withLock { $0.append(time) } }
            ) {
                await #expect(throws: CKError.self) {
                    try await container.privateCloudDatabase.record(
                        for: CKRecord.ID(recordName: "none"))
                }
            }
            _ = try await container.userRecordID()
            let after = CloudConnection.World.live.nowMilliseconds()
            let times = received.withLock { $0 }
            // The sign-in before it uses no extensions.
            let time = try #require(times.last)
            #expect(time.stepMilliseconds == 1)
            #expect((before...after).contains(time.milliseconds))
            #expect((1...after - before + 1).contains(time.elapsedMilliseconds))
        }
    }
}

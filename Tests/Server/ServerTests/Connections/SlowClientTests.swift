import StratusRecords
import StratusService
import StratusTesting
import TestServing
import Testing

/// A client that sends a part of its request and then stops gets an answer when its time is over, and does not
/// delay others.
@Suite struct SlowClientTests {
    @Test func unfinishedBodyIsAnsweredWithTimeout() async throws {
        let limits = Limits.with { $0.requestReadSeconds = 2 }
        try await withServer(.forDevelopment(limits: limits)) { port in
            let answer = try await BareConnection(port).askToEnd(
                "POST /dev/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"us")
            #expect(answer.hasPrefix("HTTP/1.1 408"), "\(answer)")
            #expect(answer.contains("BAD_REQUEST"))
        }
    }

    @Test func unfinishedHeadClosesConnection() async throws {
        let limits = Limits.with { $0.connectionIdleSeconds = 0.2 }
        try await withServer(.forDevelopment(limits: limits)) { port in
            let answer = try await BareConnection(port).askToEnd(
                "POST /dev/sign-in HTTP/1.1\r\nHost: loc")
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
        }
    }
}

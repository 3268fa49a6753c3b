import NIOCore
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import Testing

@testable import StratusServer

/// When a client is too slow, and which sources of a client's address are trusted.
@Suite struct ConnectionPaceTests {
    private let limits = Limits.with {
        $0.requestHeadSeconds = 15
        $0.requestReadSeconds = 30
        $0.answerWriteSeconds = 30
        $0.minimumBytesPerSecond = 1_000
    }

    @Test func slowHeadExceedsItsTime() {
        var pace = ConnectionPace(limits)
        #expect(!pace.isWatching)
        for second in 0...15 {
            pace.arrived(1, at: Double(second))
            #expect(pace.delay(unsentBytes: 0, at: Double(second)) == nil)
        }
        #expect(pace.delay(unsentBytes: 0, at: 15.5) == .head)
        pace.headEnded()
        #expect(pace.delay(unsentBytes: 0, at: 15.5) == nil)
    }

    /// No check is scheduled before a deadline can have passed.
    @Test func nextCheckIsDueAtTheDeadline() throws {
        var pace = ConnectionPace(limits)
        #expect(pace.secondsUntilLook(at: 0) == nil)
        pace.arrived(1, at: 10)
        let seconds = try #require(pace.secondsUntilLook(at: 12))
        #expect(seconds > 13 && seconds < 14)
        #expect(pace.delay(unsentBytes: 0, at: 12 + seconds) == .head)
        pace.headEnded()
        pace.reading(at: 20)
        pace.arrived(10_000, at: 21)
        pace.reading(at: 21)
        // 30 seconds and 10 more for the bytes; one of them has passed.
        let rest = try #require(pace.secondsUntilLook(at: 21))
        #expect(rest > 39 && rest < 40)
        #expect(pace.delay(unsentBytes: 0, at: 21 + rest) == .body)
        pace.bodyEnded()
        #expect(pace.secondsUntilLook(at: 21) == nil)
        pace.wrote(1, unsentBytes: 1, at: 22)
        #expect(try #require(pace.secondsUntilLook(at: 22)) < 1.1)
    }

    /// A slow but steady body may take as long as it needs; one below the minimum rate may not.
    @Test(arguments: [(2_000, nil), (1_000, nil), (10, ConnectionPace.Delay.body)])
    func bodyBelowTheMinimumRateExceedsItsTime(bytes: Int, delay: ConnectionPace.Delay?) {
        var pace = ConnectionPace(limits)
        pace.arrived(100, at: 0)
        pace.headEnded()
        var found: ConnectionPace.Delay?
        for second in 0..<600 {
            pace.reading(at: Double(second))
            pace.arrived(bytes, at: Double(second + 1))
            found = found ?? pace.delay(unsentBytes: 0, at: Double(second + 1))
        }
        #expect(found == delay)
    }

    /// Time in which the service does not read does not count against the client.
    @Test func pauseOfReadingDoesNotCountAgainstTheClient() {
        var pace = ConnectionPace(limits)
        pace.arrived(100, at: 0)
        pace.headEnded()
        pace.reading(at: 0)
        pace.paused(at: 1)
        #expect(pace.delay(unsentBytes: 0, at: 1_000) == nil)
        pace.reading(at: 1_000)
        #expect(pace.delay(unsentBytes: 0, at: 1_020) == nil)
        #expect(pace.delay(unsentBytes: 0, at: 1_040) == .body)
    }

    @Test func unreadAnswerExceedsItsTime() {
        var pace = ConnectionPace(limits)
        pace.answerBegan()
        pace.wrote(1_000_000, unsentBytes: 1_000_000, at: 0)
        #expect(pace.isWatching)
        #expect(pace.delay(unsentBytes: 1_000_000, at: 29) == nil)
        #expect(pace.delay(unsentBytes: 1_000_000, at: 31) == .answer)
        // The bytes that the client has read extend its time.
        #expect(pace.delay(unsentBytes: 900_000, at: 31) == nil)
        #expect(pace.delay(unsentBytes: 0, at: 100) == nil)
        #expect(!pace.isWatching)
    }

    /// Time in which there is nothing to send, as in a long poll, does not count against the client.
    @Test func idleAnswerDoesNotExceedItsTime() {
        var pace = ConnectionPace(limits)
        pace.arrived(100, at: 0)
        pace.headEnded()
        pace.bodyEnded()
        #expect(pace.delay(unsentBytes: 0, at: 50) == nil)
        pace.answerBegan()
        pace.wrote(10, unsentBytes: 0, at: 50)
        #expect(pace.delay(unsentBytes: 0, at: 5_000) == nil)
    }

    // MARK: Proxies

    @Test func forwardedAddressIsTakenFromTrustedProxiesOnly() throws {
        let proxies = try #require(TrustedProxies("10.0.0.0/9, 2001:db8::/33,192.0.2.7"))
        func client(_ peer: String, _ forwarded: String...) throws -> String {
            proxies.client(
                peer: try SocketAddress(ipAddress: peer, port: 1), forwardedFor: forwarded)
        }
        #expect(try client("203.0.113.1", "1.2.3.4") == "203.0.113.1")
        #expect(try client("10.1.1.1", "1.2.3.4") == "1.2.3.4")
        #expect(try client("10.127.1.1", "6.6.6.6, 1.2.3.4") == "1.2.3.4")
        #expect(try client("10.128.1.1", "1.2.3.4") == "10.128.1.1")
        #expect(try client("::ffff:192.0.2.7", "6.6.6.6", "1.2.3.4,10.0.0.9") == "1.2.3.4")
        #expect(try client("10.1.1.1") == "10.1.1.1")
        #expect(try client("10.1.1.1", "10.1.1.2") == "10.1.1.2")
        #expect(try client("10.1.1.1", "nonsense") == NetworkAddress.unknown)
        #expect(try client("2001:db8:7fff::1", "2001:db9:1:2:3::4") == "2001:db9:1:2::/64")
        #expect(try client("2001:db8:8000::1", "1.2.3.4") == "2001:db8:8000:0::/64")
        #expect(TrustedProxies.none.client(peer: nil, forwardedFor: []) == NetworkAddress.unknown)
    }

    /// All IPv6 addresses with the same first 64 bits belong to one client, and share one rate.
    @Test(arguments: [
        ("2001:db8:1:2::", "2001:db8:1:3::1", false), ("::ffff:192.0.2.", "192.0.2.9", true),
    ]) func addressesOfOneNetworkShareARate(_ network: String, _ other: String, isIPv4: Bool) throws
    {
        var limits = Limits()
        limits.requestsInBurstPerAddress = 3
        var settings = ServiceSettings(isForDevelopment: true, limits: limits, isThrottled: true)
        settings.world.uptimeSeconds = { 1_000 }
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        func isServed(_ address: String) throws -> Bool {
            let address = try SocketAddress(ipAddress: address, port: 1)
            let name = TrustedProxies.none.client(peer: address, forwardedFor: [])
            // A refusal is the only error that it throws.
            return (try? service.checkRate(of: Credentials(apiToken: nil, networkAddress: name)))
                != nil
        }
        let served = try (1...8).map { try isServed("\(network)\($0)") }
        #expect(served.count { $0 } == (isIPv4 ? 8 : 3))
        #expect(try isServed(other))
        // An IPv4 address written as IPv6 is the same address.
        if isIPv4 {
            let again = try (1...8).map { _ in try isServed("192.0.2.1") }
            #expect(again.count { $0 } == 2)
        }
    }

    @Test(arguments: ["", "10.0.0.0/33", "localhost", "10.0.0/8", "10.0.0.0/x", "::/129", "/8"])
    func malformedProxyNetworkIsRefused(_ text: String) {
        #expect(TrustedProxies(text) == nil)
    }

    // MARK: Names

    @Test func onlyOwnHostNamesAreAccepted() throws {
        let names = ServiceNames(listeningOn: "0.0.0.0", and: ["cloud.local"])
        let local = try SocketAddress(ipAddress: "192.0.2.1", port: 8_080)
        for good in [
            "localhost", "localhost:80", "127.0.0.1:1", "127.9.9.9", "[::1]:8080", "a.localhost",
            "Cloud.Local:8080", "192.0.2.1:8080", "LOCALHOST",
        ] {
            #expect(names.contains(good, localAddress: local), "\(good)")
        }
        for bad in [
            "evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org", "192.0.2.2", "", ":80",
            "cloud.local.evil.org", "[::2]", "0.0.0.1", "128.0.0.1",
            // A host name followed by characters that point an address at another host.
            "127.0.0.1:80@evil.org", "localhost:80@evil.org", "[::1]evil.org", "[::1]@evil.org",
            "[::1]:80@evil.org", "127.0.0.1:80/x", "127.0.0.1:80#x", "127.0.0.1:x",
            "localhost:123456", "a:b@evil.org:c.localhost", "<b>.localhost", "a\".localhost",
            "evil.org/.localhost", "evil.org?.localhost", "evil.org\\.localhost",
        ] {
            #expect(!names.contains(bad, localAddress: local), "\(bad)")
        }
    }
}

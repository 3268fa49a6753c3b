import Foundation
import StratusClient
import Synchronization
import TestSeeds
import Testing

/// After any answer of the service an app gets a `CKError`, and its process keeps running.
///
/// A failure prints its seed, and a seed causes the same damage in every process.
@Suite(.timeLimit(.minutes(20)))
struct AnswerFuzzTests {
    private static let damageCount = 150

    @Test("Undamaged answers are read without an error", arguments: AnswerProbe.all)
    func undamagedAnswerGivesNoError(_ probe: AnswerProbe) async throws {
        let witness = AnswerWitness()
        let answer = DamagedAnswer(undamaged: probe.seed)
        await probe.ask(Self.container(DamagedCloud(answer, at: probe.path)), witness)
        #expect(witness.faults == [])
        #expect(witness.wholeErrors == [])
    }

    @Test("Damaged answers cause one CKError for each request", arguments: AnswerProbe.all)
    func damagedAnswerGivesOneErrorPerRequest(_ probe: AnswerProbe) async throws {
        let shape = try JSONShape(probe.seed)
        let undamaged = AnswerWitness()
        await probe.ask(
            Self.container(
                DamagedCloud(DamagedAnswer(undamaged: probe.seed), at: probe.path)), undamaged)
        for seed in Seeds.forTest("AnswerFuzzTests", count: Self.damageCount) {
            let witness = AnswerWitness()
            let answer = DamagedAnswer(probe.seed, shape, seed: seed)
            await probe.ask(Self.container(DamagedCloud(answer, at: probe.path)), witness)
            #expect(witness.faults == [], "seed \(seed)")
            #expect(witness.endCount == undamaged.endCount, "seed \(seed)")
        }
    }

    @Test("An extreme retry-after does not end the process")
    func extremeDelayDoesNotEndProcess() async throws {
        // The process's own clock: a duration that it cannot represent would end the process.
        let world = CloudConnection.World()
        for seconds in [Double.infinity, 1e308, 1e19, -.infinity, .nan, -1] {
            let waiting = Task { try await world.sleep(seconds) }
            waiting.cancel()
            _ = await waiting.result
        }
    }

    @Test(
        "Invalid download addresses are reported as errors",
        arguments: [
            "", "/", "//", "http://[::1", "http://", "gopher://a/b", "\u{0}", "%", "/%zz", "a b",
        ])
    func invalidDownloadAddressThrows(_ address: String) async throws {
        let transport = try #require(
            HTTPTransport(
                origin: "http://127.0.0.1:1", credentials: .init(apiToken: "a"), deviceID: "d"))
        await #expect(throws: (any Error).self) {
            try await transport.download(from: address, timeoutSeconds: 5) { _ in }
        }
        await #expect(throws: (any Error).self) {
            try await transport.nextNotification(at: address, timeoutSeconds: 5)
        }
    }

    /// A device whose clock does not wait, and which gives up after a number of pauses.
    private static func container(_ cloud: DamagedCloud) -> CKContainer {
        let waits = Mutex(0)
        let world = CloudConnection.World(
            nowMilliseconds: { 1_800_000_000_000 },
            sleep: { _ in
                let count = waits.withLock { count in
                    count += 1
                    return count
                }
                if count > 20 { throw CancellationError() }
            },
            // Eight bytes are a number; more are an identifier, which must be unique.
            randomBytes: {
                $0 == 8
                    ? [UInt8](repeating: 0x80, count: 8)
                    : CloudConnection.World.live.randomBytes($0)
            })
        return CKContainer(
            identifier: "iCloud.org.example.Trails",
            connection: CloudConnection(
                transport: cloud, hasAccount: true, deviceID: "phone", world: world,
                keyStore: MemoryKeyStore()))
    }
}

import Foundation
import Logging
import StratusServer
import StratusService
import StratusStorage
import TestServing
import Testing

@testable import StratusClient

/// Whether answers to this project's client are compressed with gzip.
@Suite(.timeLimit(.minutes(20))) struct CompressedAnswerTests {
    /// Linux connects 0.0.0.0 to this machine, and the client treats it as a remote address.
    private static let elsewhere = "0.0.0.0"

    @Test func answersOverANetworkAreCompressed() async throws {
        try await withServer(
            .forDevelopment(), hostNames: [Self.elsewhere], isDevelopmentOpen: true,
            { port in
                let near = try CuttingRelay(to: port, cuts: 0, after: 0)
                let far = try CuttingRelay(to: port, cuts: 0, after: 0)
                let plain = try await Self.fetchedNames("127.0.0.1", near)
                let packed = try await Self.fetchedNames(Self.elsewhere, far)
                #expect(plain == packed)
                #expect(plain.count == 120)
                #expect(
                    far.answeredBytes * 3 < near.answeredBytes,
                    "\(far.answeredBytes) and \(near.answeredBytes)")
            })
    }

    /// Saves 120 huts through the relay and fetches their names.
    private static func fetchedNames(_ host: String, _ relay: CuttingRelay) async throws -> Set<
        String
    > {
        let database = CKContainer(
            identifier: "iCloud.org.example.Trails",
            connection: CloudConnection(environmentVariables: [
                "STRATUS_URL": "http://\(host):\(relay.port)", "STRATUS_DEV_USER": "ida",
            ])
        ).privateCloudDatabase
        let huts = (0..<120).map { number in
            let hut = CKRecord(
                recordType: "Hut", recordID: .init(recordName: "hut-\(number)"))
            // Digits that look random, because a body that compresses too well is sent uncompressed.
            hut["name"] = (0..<6).map {
                String(UInt64(number * 6 + $0 + 1) &* 0x9e37_79b9_7f4a_7c15, radix: 16)
            }.joined(separator: " ")
            return hut
        }
        _ = try await database.modifyRecords(
            saving: huts, deleting: [], savePolicy: .allKeys)
        let found = try await database.records(for: huts.map(\.recordID))
        return try Set(found.values.map { try $0.get()["name"] as? String ?? "" })
    }
}

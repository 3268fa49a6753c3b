import Foundation
import StratusRecords
import Testing

@testable import StratusService

/// The tar file of an account's data, as any tar program reads it.
@Suite struct TarWriterTests {
    /// The path in each header of an archive of empty files.
    private func paths(in archive: [UInt8]) -> [String] {
        stride(from: 0, to: archive.count, by: 512).compactMap { start in
            func text(_ offset: Int, _ count: Int) -> String {
                let bytes = archive[(start + offset)..<(start + offset + count)]
                return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let (name, prefix) = (text(0, 100), text(345, 155))
            return name.isEmpty ? nil : prefix.isEmpty ? name : prefix + "/" + name
        }
    }

    @Test func longestContainerNameFitsIntoPaths() async throws {
        let folder = String(repeating: "A", count: 127) + "/development/zone-0001"
        let expected = [
            "account.json", folder + "/zone.json", folder + "/records-000001.jsonl",
            folder + "/assets/000001",
        ]
        var archive: [UInt8] = []
        var tar = TarWriter(seconds: 0) { archive += $0 }
        for path in expected { try await tar.add(path, []) }
        try await tar.finish()
        #expect(paths(in: archive) == expected)
        for path in [String(repeating: "a", count: 101), String(repeating: "a/", count: 130)] {
            await #expect(throws: ServiceError.self) { try await tar.begin(path, sizeBytes: 0) }
        }
    }
}

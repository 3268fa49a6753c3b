import StratusRecords
import Testing

@testable import StratusStorage

@Suite struct StorageFileNameTests {
    @Test(arguments: [
        ("iCloud.org.example.Trails", "i^cloud.org.example.^trails"),
        ("_0123abcdef", "_0123abcdef"), ("../../etc/passwd", "%2e.%2f..%2fetc%2fpasswd"),
        (".", "%2e"), ("", "%"), ("a b", "a%20b"), ("ü", "%c3%bc"), ("^a%", "%5ea%25"),
        ("\u{1}", "%01"),
    ])
    func fileNameEncodingRoundTrips(name: String, encoded: String) {
        #expect(FileName.encode(name) == encoded)
        #expect(FileName.decode(encoded) == name)
    }

    @Test func ownerNamedPublicHasItsOwnFile() {
        let owner = DatabaseAddress.Tenant.private(owner: "public")
        #expect(FileName.of(owner) != FileName.of(.public))
        #expect(FileName.tenant(FileName.of(owner)) == owner)
        #expect(FileName.tenant(FileName.of(.public)) == .public)
    }

    @Test(arguments: ["^", "^A", "%2", "%zz", "%ff"])
    func malformedFileNameIsNotDecoded(encoded: String) {
        #expect(FileName.decode(encoded) == nil)
    }
}

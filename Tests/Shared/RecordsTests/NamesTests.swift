import StratusRecords
import Testing

@Suite struct NamesTests {
    @Test(arguments: ["a", "hut-3", "a/b:c", "7F3A9C10-5B2E", String(repeating: "x", count: 255)])
    func wellFormedRecordNameIsAccepted(_ name: String) {
        #expect(Names.isRecordName(name))
    }

    @Test(arguments: ["", "_a", "grün", "a\nb", "a\u{7F}", String(repeating: "x", count: 256)])
    func malformedRecordNameIsRefused(_ name: String) {
        #expect(!Names.isRecordName(name))
    }

    @Test(arguments: ["a", "Hut", "field_1", String(repeating: "x", count: 255)])
    func wellFormedIdentifierIsAccepted(_ name: String) {
        #expect(Names.isIdentifier(name))
    }

    @Test(arguments: ["", "1a", "_a", "a-b", "a.b", "größe", String(repeating: "x", count: 256)])
    func malformedIdentifierIsRefused(_ name: String) {
        #expect(!Names.isIdentifier(name))
    }
}

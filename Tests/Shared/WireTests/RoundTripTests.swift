import StratusRecords
import StratusWire
import TestSeeds
import Testing

/// Every written value is read as the same value.
@Suite struct RoundTripTests {
    @Test(
        "Requests round-trip in both parsers",
        arguments: Seeds.forTest("RoundTripTests, requests", count: 300))
    func requestRoundTripsInBothParsers(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let request = generator.modify()
        let bytes = wireBytes(of: request)
        for parser in JSONDocument.Parser.available {
            let read = try readWire(RecordsModify.Request.self, from: bytes, parser: parser)
            #expect(read == request, "\(parser)")
        }
    }

    @Test("Answers round-trip", arguments: Seeds.forTest("RoundTripTests, answers", count: 300))
    func answerRoundTrips(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let answer = generator.answer()
        #expect(try readWire(RecordsQuery.Answer.self, from: wireBytes(of: answer)) == answer)
    }

    @Test(
        "Fields round-trip, also with numbers as strings",
        arguments: Seeds.forTest("RoundTripTests, fields", count: 300))
    func fieldsRoundTripWithNumbersAsStrings(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let fields = try generator.fields().values()
        for quoted in [false, true] {
            let bytes = try RecordFields.values(fields).encoded(only: nil, numbersAsStrings: quoted)
            #expect(try RecordFields.encoded(bytes).values() == fields)
        }
    }

    @Test(
        "Named fields are a subset of all fields",
        arguments: Seeds.forTest("RoundTripTests, named fields", count: 100))
    func namedFieldsAreASubsetOfAllFields(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let fields = try generator.fields().values()
        let encoded = RecordFields.encoded(RecordFields.values(fields).encoded())
        let names = fields.enumerated().filter { ($0.offset + Int(seed % 2)) % 2 == 0 }
            .map(\.element.name)
        for stored in [RecordFields.values(fields), encoded] {
            let wanted = fields.filter { names.contains($0.name) }
            #expect(try stored.values(named: names + ["absent"]) == wanted)
            #expect(try stored.values(named: []) == [])
        }
    }
}

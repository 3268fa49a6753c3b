import StratusRecords
import StratusWire
import Testing

/// Exact dates are an extension: they accompany the milliseconds, and count only if they agree with them.
@Suite struct ExactDateWireTests {
    private func fields(_ json: String) throws -> [Field] {
        try RecordFields.encoded(Array(json.utf8)).values()
    }

    @Test func exactValueIsWrittenBesideMilliseconds() throws {
        let seconds = 721_692_800.123_456_7
        let milliseconds = ExactDate.milliseconds(of: seconds)
        let value = FieldValue.timestamp(milliseconds: milliseconds, exactSeconds: seconds)
        let list = FieldValue.timestampList(
            milliseconds: [milliseconds, 5], exactSeconds: [seconds, -978_307_199.995])
        let place = FieldValue.location(
            Location(
                latitude: 1, longitude: 2, timestampMilliseconds: milliseconds,
                timestampExactSeconds: seconds))
        let written = RecordFields.values([
            Field(name: "at", value: value), Field(name: "dates", value: list),
            Field(name: "place", value: place),
        ])
        let text = String(decoding: written.encoded(), as: UTF8.self)
        #expect(text.contains(#""value":\#(milliseconds),"type":"TIMESTAMP","exactValue":"#))
        #expect(
            try RecordFields.encoded(written.encoded()).values().map(\.value) == [
                value, list, place,
            ])
        let others = String(
            decoding: try RecordFields.encoded(written.encoded()).inMilliseconds().encoded(),
            as: UTF8.self)
        #expect(!others.contains("exact") && others.contains("\(milliseconds)"))
    }

    @Test(arguments: [
        #"{"at":{"value":5,"type":"TIMESTAMP","exactValue":7}}"#,
        #"{"at":{"value":5,"type":"TIMESTAMP","exactValue":"x"}}"#,
        #"{"at":{"value":5,"type":"TIMESTAMP","exactValue":null}}"#,
        #"{"at":{"value":[5],"type":"TIMESTAMP_LIST","exactValue":[1,2]}}"#,
        #"{"at":{"value":[5],"type":"TIMESTAMP_LIST","exactValue":["x"]}}"#,
        #"{"at":{"value":{"latitude":1,"longitude":2,"timestamp":5,"exactTimestamp":9}}}"#,
    ])
    func disagreeingExactValueIsDropped(_ json: String) throws {
        let field = try #require(try fields(json).first)
        #expect(field.value == field.value?.inMilliseconds)
    }
}

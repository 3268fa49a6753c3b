import StratusRecords
import StratusWire
import Testing

/// The format of values on the wire.
@Suite struct WritingTests {
    func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    @Test("Strings have only the escapes that JSON requires")
    func stringsUseOnlyRequiredEscapes() {
        #expect(text { $0.string("plain ümläut 😀 / \u{7F}") } == "\"plain ümläut 😀 / \u{7F}\"")
        #expect(
            text { $0.string("\"\\\n\r\t\u{8}\u{C}\u{0}\u{1F}") }
                == #""\"\\\n\r\t\b\f\u0000\u001f""#)
        #expect(text { $0.string("") } == #""""#)
    }

    @Test("An escape is written at every position of a long string")
    func escapeIsWrittenAtEveryPosition() throws {
        for length in [7, 8, 9, 63, 64, 65, 700] {
            for place in 0..<length {
                var string = Array(repeating: UInt8(ascii: "x"), count: length)
                string[place] = UInt8(ascii: "\n")
                let original = String(decoding: string, as: UTF8.self)
                let bytes = wireBytes(of: DevSignIn.Request(user: original), reservingBytes: 0)
                #expect(try readWire(DevSignIn.Request.self, from: bytes).user == original)
            }
        }
        let worst = String(repeating: "\u{1}", count: 5_000)
        let bytes = wireBytes(of: DevSignIn.Request(user: worst), reservingBytes: 0)
        #expect(try readWire(DevSignIn.Request.self, from: bytes).user == worst)
    }

    @Test(
        "Integers are written as digits",
        arguments: [
            (0, "0"), (9, "9"), (10, "10"), (99, "99"), (100, "100"), (-1, "-1"),
            (Int64.max, "9223372036854775807"), (Int64.min, "-9223372036854775808"),
            (1_000_000_000_000_000_000, "1000000000000000000"),
            (999_999_999_999_999_999, "999999999999999999"),
        ] as [(Int64, String)])
    func integersAreWrittenAsDigits(value: Int64, digits: String) {
        #expect(text { $0.integer(value) } == digits)
        #expect(text { $0.integer(value, isQuoted: true) } == "\"\(digits)\"")
    }

    @Test("Doubles are written with the fewest digits that round-trip, or as null if not finite")
    func doublesAreWrittenShortestOrAsNull() throws {
        #expect(text { $0.double(0.1) } == "0.1")
        #expect(text { $0.double(22) } == "22.0")
        #expect(text { $0.double(.nan) } == "null")
        #expect(text { $0.double(-.infinity) } == "null")
        for value in [
            Double.greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0, 1e21, 5e-7, .pi, 1e16,
            9_007_199_254_740_992,
        ] {
            let field = Field(name: "d", value: .double(value))
            let read = try RecordFields.encoded(RecordFields.values([field]).encoded()).values()
            #expect(read == [field])
        }
    }

    @Test(
        "Base64 has the standard alphabet and padding",
        arguments: [
            ([], ""), ([0], "AA=="), ([0, 1], "AAE="), ([0, 1, 2], "AAEC"),
            ([255, 255, 254], "///+"),
        ] as [([UInt8], String)])
    func base64HasStandardAlphabetAndPadding(bytes: [UInt8], expected: String) throws {
        #expect(text { $0.base64(bytes) } == "\"\(expected)\"")
        let field = Field(name: "b", value: .bytes(bytes))
        #expect(
            try RecordFields.encoded(RecordFields.values([field]).encoded()).values() == [field])
    }

    static let fields: [Field] = [
        Field(name: "s", value: .string("x")), Field(name: "i", value: .int64(1)),
        Field(name: "d", value: .double(1.5)), Field(name: "t", value: .timestamp(milliseconds: 9)),
        Field(name: "l", value: .int64List([1, 2])), Field(name: "e", value: .emptyList),
        Field(name: "n", value: nil),
        Field(name: "q", value: .string("y"), isEncrypted: true),
    ]

    @Test("Every value is written with its type, a list with that of its elements")
    func everyValueIsWrittenWithItsType() {
        #expect(
            String(decoding: RecordFields.values(Self.fields).encoded(), as: UTF8.self)
                == #"{"s":{"value":"x","type":"STRING"},"i":{"value":1,"type":"INT64"},"#
                + #""d":{"value":1.5,"type":"DOUBLE"},"t":{"value":9,"type":"TIMESTAMP"},"#
                + #""l":{"value":[1,2],"type":"INT64_LIST"},"e":{"value":[],"type":"UNKNOWN_LIST"},"#
                + #""n":{"value":null},"q":{"value":"y","type":"STRING","isEncrypted":true}}"#)
    }

    @Test("Desired keys and numbers as strings apply to values and to encoded fields")
    func desiredKeysApplyToValuesAndEncodedFields() throws {
        let values = RecordFields.values(Self.fields)
        for fields in [values, .encoded(values.encoded())] {
            #expect(
                String(
                    decoding: try fields.encoded(
                        only: ["l", "d", "t", "missing"], numbersAsStrings: true), as: UTF8.self)
                    == #"{"d":{"value":"1.5","type":"DOUBLE"},"t":{"value":"9","type":"TIMESTAMP"},"#
                    + #""l":{"value":["1","2"],"type":"INT64_LIST"}}"#)
            #expect(String(decoding: try fields.encoded(only: []), as: UTF8.self) == "{}")
            #expect(try fields.encoded(only: nil) == values.encoded())
        }
    }

    @Test("Encoded fields are written verbatim")
    func encodedFieldsAreWrittenVerbatim() {
        let record = RecordDictionary(
            recordName: "r", fields: .encoded(Array(#"{ "a" : {"value":1,"type":"INT64"}}"#.utf8)))
        #expect(
            String(decoding: wireBytes(of: record), as: UTF8.self)
                == #"{"recordName":"r","fields":{ "a" : {"value":1,"type":"INT64"}},"#
                + #""pluginFields":{},"deleted":false}"#)
    }

    @Test("Malformed encoded fields are refused when they are read")
    func malformedEncodedFieldsAreRefusedWhenRead() {
        #expect(throws: WireError("The body is not valid JSON.")) {
            try RecordFields.encoded(Array("{".utf8)).values()
        }
    }

    @Test("Extensions of an error round-trip")
    func errorExtensionsRoundTrip() throws {
        let failure = RecordResult.failure(
            RecordFailure(
                recordName: "r", zoneID: ZoneIDDictionary(zoneName: "z"),
                error: ServiceError(
                    .conflict, "stale", retryAfterSeconds: 1.5, redirectURL: "u",
                    frameworkCode: .limitExceeded, lastIntactVersion: 7),
                uuid: "1", serverRecord: RecordDictionary(recordName: "r", recordType: "T"),
                ancestorRecord: RecordDictionary(recordName: "r")))
        #expect(try readWire(RecordResult.self, from: wireBytes(of: failure)) == failure)
    }
}

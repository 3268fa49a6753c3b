import StratusRecords
import StratusWire
import Testing

/// The errors for malformed bodies.
@Suite struct MalformedBodyTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var body: String
        var reason: String
        var path: String
        var read: @Sendable ([UInt8]) throws -> Void

        var testDescription: String { String(body.prefix(80)) }

        init<Value: WireReadable & SendableMetatype>(
            _ type: Value.Type, _ body: String, _ reason: String, at path: String = ""
        ) {
            self.body = body
            self.reason = reason
            self.path = path
            read = { try readWhole(type, from: $0) }
        }
    }

    /// A records/modify body around one field.
    static func field(_ field: String) -> String {
        #"{"operations":[{"operationType":"create","record":{"fields":{"a":\#(field)}}}]}"#
    }

    static let unknownWord =
        "The protocol does not know this word; Documentation/Wire.md lists those of each key."
    static let escape = "A string has an unknown escape or half of a surrogate pair."

    static let syntax = [
        Case(EmptyBody.self, "{", "The body is not valid JSON."),
        Case(EmptyBody.self, "  ", "The body is not valid JSON."),
        Case(EmptyBody.self, "{} {}", "The body is not valid JSON."),
        Case(EmptyBody.self, #"{"a":1,}"#, "The body is not valid JSON."),
        Case(EmptyBody.self, #"{"a":"\#u{0}"}"#, "The body is not valid JSON."),
        Case(EmptyBody.self, #"{"a":"\ud800"}"#, escape),
        Case(EmptyBody.self, #"{"a":"\udc00"}"#, escape),
        Case(EmptyBody.self, #"{"a":"\x"}"#, escape),
        Case(EmptyBody.self, #"{"a":"\u12g4"}"#, escape),
        Case(EmptyBody.self, #"{"\udc00\ud800":1}"#, escape),
        Case(
            EmptyBody.self, "\u{FEFF}{}",
            "The body begins with a byte order mark; send plain UTF-8."),
        Case(
            EmptyBody.self, String(repeating: "[", count: 130) + String(repeating: "]", count: 130),
            "The body is nested more than 128 levels deep; send it flatter."),
    ]

    static let modify = [
        Case(RecordsModify.Request.self, "[]", "Expected an object."),
        Case(RecordsModify.Request.self, "{}", "This key is required.", at: "operations"),
        Case(
            RecordsModify.Request.self, #"{"operations":null}"#, "This key is required.",
            at: "operations"),
        Case(
            RecordsModify.Request.self, #"{"operations":{}}"#, "Expected an array.",
            at: "operations"),
        Case(
            RecordsModify.Request.self, #"{"operations":[7]}"#, "Expected an object.",
            at: "operations[0]"),
        Case(
            RecordsModify.Request.self, #"{"operations":[{"operationType":"steal","record":{}}]}"#,
            unknownWord, at: "operations[0].operationType"),
        Case(
            RecordsModify.Request.self, #"{"operations":[{"operationType":"create"}]}"#,
            "This key is required.", at: "operations[0].record"),
        Case(
            RecordsModify.Request.self,
            #"{"operations":[{"operationType":"create","record":{"recordName":7}}]}"#,
            "Expected a string.", at: "operations[0].record.recordName"),
        Case(
            RecordsModify.Request.self, #"{"operations":[],"atomic":"yes"}"#,
            "Expected true or false.", at: "atomic"),
        Case(
            RecordsModify.Request.self, #"{"operations":[],"desiredKeys":["a",1]}"#,
            "Expected a string.", at: "desiredKeys[1]"),
        Case(
            RecordsModify.Request.self, field("7"), "Expected an object with a value.",
            at: "operations[0].record.fields.a"),
        Case(
            RecordsModify.Request.self, field(#"{"value":{}}"#),
            "The value has no type, and none can be inferred from its form; declare one in type.",
            at: "operations[0].record.fields.a.value"),
        Case(
            RecordsModify.Request.self, field(#"{"value":1,"type":"NUMBERISH"}"#),
            "The protocol does not know this type; Documentation/Wire.md lists the types.",
            at: "operations[0].record.fields.a.type"),
    ]

    /// Values that do not match their type.
    static let values = [
        (#""x""#, "INT64"), ("1.5", "INT64"), ("9223372036854775808", "INT64"), ("[]", "INT64"),
        (#""1.5.2""#, "DOUBLE"), (#""nan""#, "DOUBLE"), ("{}", "DOUBLE"),
        ("1735689600000.5", "TIMESTAMP"), (#""now""#, "TIMESTAMP"), ("1", "STRING"),
        ("true", "STRING"), (#""a""#, "BYTES"), (#""a===""#, "BYTES"), (#""a-_b""#, "BYTES"),
        ("5", "LOCATION"), (#"{"latitude":1}"#, "LOCATION"), (#""hut""#, "REFERENCE"),
        ("{}", "REFERENCE"), ("7", "ASSETID"), (#""a""#, "STRING_LIST"),
        (#"["a",1]"#, "STRING_LIST"),
        (#"["a",null]"#, "STRING_LIST"), (#"[1,"x"]"#, "INT64_LIST"), ("[[1]]", "DOUBLE_LIST"),
        ("[0.5]", "TIMESTAMP_LIST"), (#"["?"]"#, "BYTES_LIST"),
    ].map { value, type in
        Case(
            RecordsModify.Request.self, field(#"{"value":\#(value),"type":"\#(type)"}"#),
            "Invalid value, expected type \(type).", at: "operations[0].record.fields.a.value")
    }

    static let others = [
        Case(
            RecordsQuery.Request.self, #"{"query":{}}"#, "This key is required.",
            at: "query.recordType"),
        Case(
            RecordsQuery.Request.self,
            #"{"query":{"recordType":"T","filterBy":[{"comparator":"LIKE"}]}}"#,
            unknownWord, at: "query.filterBy[0].comparator"),
        Case(
            RecordsQuery.Request.self,
            #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a"}]}}"#,
            "This key is required.", at: "query.filterBy[0].fieldValue"),
        Case(
            RecordsQuery.Request.self,
            #"{"query":{"recordType":"T","sortBy":[{"fieldName":"___etag"}]}}"#,
            "The protocol does not know this system field; it has ___recordID, ___share, ___parent,"
                + " ___createdBy, ___createTime, ___modTime and ___modifiedBy.",
            at: "query.sortBy[0].fieldName"),
        Case(RecordsQuery.Answer.self, "{}", "This key is required.", at: "records"),
        Case(RecordsQuery.Answer.self, "", "This key is required.", at: "records"),
        Case(
            RecordsQuery.Request.self, #"{"query":{"recordType":"T"},"resultsLimit":1.5}"#,
            "Expected a whole number.", at: "resultsLimit"),
        Case(ChangesZone.Request.self, "{}", "An array is required.", at: "zones"),
        Case(
            ChangesZone.Request.self, #"{"zones":[{}]}"#, "This key is required.",
            at: "zones[0].zoneID"),
        Case(
            ChangesZone.Answer.self, #"{"zones":[{"zoneID":{},"records":[]}]}"#,
            "This key is required.", at: "zones[0].syncToken"),
        Case(
            SubscriptionsLookup.Request.self, #"{"subscriptions":[{}]}"#, "This key is required.",
            at: "subscriptions[0].subscriptionID"),
        Case(
            SubscriptionsModify.Request.self,
            #"{"operations":[{"operationType":"create","subscription":{"firesOn":["never"]}}]}"#,
            unknownWord, at: "operations[0].subscription.firesOn[0]"),
        Case(ErrorBody.self, "{}", "This key is required.", at: "extensionErrorCode"),
        Case(NotificationPayload.self, "{}", "This key is required.", at: "ck"),
        Case(
            NotificationPayload.self, #"{"ck":{"cid":"c","nid":"n"}}"#,
            "One of the keys qry, fet and met is required.", at: "ck"),
    ]

    @Test("The error says what is wrong and where", arguments: syntax + modify + values + others)
    func malformedBodyErrorHasReasonAndPath(malformed: Case) throws {
        #expect(throws: WireError(malformed.reason, at: malformed.path)) {
            try malformed.read(Array(malformed.body.utf8))
        }
    }

    @Test("Bytes that are not UTF-8 are refused", arguments: JSONDocument.Parser.available)
    func invalidUTF8IsRefused(parser: JSONDocument.Parser) {
        for bytes: [UInt8] in [
            [0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
        ] {
            #expect(throws: WireError("The body is not valid UTF-8.")) {
                try readWire(EmptyBody.self, from: [0x22] + bytes + [0x22], parser: parser)
            }
        }
    }

    @Test("Numbers beyond 64 bits are refused", arguments: JSONDocument.Parser.available)
    func numberBeyond64BitsIsRefused(parser: JSONDocument.Parser) {
        let digits = String(repeating: "9", count: 100_000)
        for text in ["1e999", "-1e400", "18446744073709551616", "-9223372036854775809", digits] {
            #expect(
                throws: WireError("A number is malformed or does not fit into 64 bits."), "\(text)"
            ) {
                try readWire(EmptyBody.self, from: Array("[\(text)]".utf8), parser: parser)
            }
        }
    }

    @Test("Both parsers give the same reason", arguments: syntax)
    func bothParsersGiveTheSameReason(malformed: Case) {
        for parser in JSONDocument.Parser.available {
            #expect(throws: WireError(malformed.reason)) {
                try readWire(EmptyBody.self, from: Array(malformed.body.utf8), parser: parser)
            }
        }
    }

    @Test("128 levels are read and 129 are not", arguments: JSONDocument.Parser.available)
    func nestingDepthIsLimited(parser: JSONDocument.Parser) {
        func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
            Array(
                (String(repeating: open, count: depth) + "1"
                    + String(repeating: close, count: depth))
                    .utf8)
        }
        #expect(JSONDocument.maximumDepth == 128)
        #expect(parses(nested(128, "[", "]"), parser))
        #expect(!parses(nested(129, "[", "]"), parser))
        #expect(parses(nested(128, #"{"a":"#, "}"), parser))
        #expect(!parses(nested(129, #"{"a":"#, "}"), parser))
        #expect(!parses(nested(100_000, "[", "]"), parser))
        #expect(!parses(nested(100_000, #"{"a":"#, "}"), parser))
    }

    @Test("A record with more fields than the limit is refused, even with a million")
    func bodyWithTooManyFieldsIsRefused() throws {
        for count in [Limits.readableFieldsPerRecord + 1, 1_000_000] {
            let fields = (0..<count).map { #""f\#($0)":{"value":1}"# }.joined(separator: ",")
            let body =
                #"{"operations":[{"operationType":"create","record":{"fields":{\#(fields)}}}]}"#
            #expect(
                throws: WireError(
                    "The record has more than 4096 fields; divide it into several records.",
                    at: "operations[0].record.fields")
            ) {
                try readWhole(RecordsModify.Request.self, from: Array(body.utf8))
            }
        }
    }

    @Test("A body cut off anywhere is refused", arguments: JSONDocument.Parser.available)
    func truncatedBodyIsRefused(parser: JSONDocument.Parser) throws {
        var body = try Fixtures.bytes("Examples/records-modify.answer.json")
        while body.last == 0x0A { body.removeLast() }
        for length in 1..<body.count {
            #expect(!parses(Array(body[..<length]), parser), "\(length)")
        }
    }
}

/// Reads a body, and throws for malformed fields like for all other errors. A request with one record's malformed
/// fields is otherwise read, with the error at its operation.
private func readWhole<Value: WireReadable>(_ type: Value.Type, from bytes: [UInt8]) throws {
    let value = try readWire(type, from: bytes)
    guard let request = value as? RecordsModify.Request else { return }
    for (index, operation) in request.operations.enumerated() {
        guard let error = operation.malformedFields else { continue }
        #expect(operation.record.fields == .values([]))
        throw WireError(error.reason, at: "operations[\(index)].record.\(error.path)")
    }
}

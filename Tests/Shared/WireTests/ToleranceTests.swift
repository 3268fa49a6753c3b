import StratusRecords
import StratusWire
import Testing

/// Forms that other clients send besides the documented one, and that are understood.
@Suite struct ToleranceTests {
    func read<Value: WireReadable>(_ type: Value.Type, _ body: String) throws -> Value {
        try readWire(type, from: Array(body.utf8))
    }

    func field(_ json: String) throws -> Field {
        let fields = try RecordFields.encoded(Array(#"{"a":\#(json)}"#.utf8)).values()
        return try #require(fields.first)
    }

    /// In the form that a device keeps, too. Without a name the error belongs to no record.
    @Test("A record with malformed fields fails alone in an answer", arguments: [false, true])
    func recordWithMalformedFieldsFailsAlone(keepsFields: Bool) throws {
        var item = ChangesZone.Item(zoneID: ZoneIDDictionary(zoneName: "z"))
        item.keepsFields = keepsFields
        func records(_ first: String) throws -> [RecordResult] {
            let record = #"{"recordName":"b","recordType":"T","fields":{}}"#
            let body = """
                {"zones":[{"zoneID":{"zoneName":"z"},"syncToken":"t","moreComing":false,\
                "records":[\(first),\(record)]}]}
                """
            return try Array(body.utf8).withUnsafeBytes { bytes in
                try ChangesZone.answer(to: .init(zones: [item]), from: bytes).items[0].get().records
            }
        }
        let fields = #""fields":{"beds":{"value":1,"type":"X"}}"#
        let results = try records(
            #"{"recordName":"a","zoneID":{"zoneName":"z"},\#(fields)}"#)
        guard case .failure(let failure) = results[0], case .record(let other) = results[1] else {
            Issue.record("The first record must fail, and the second be read.")
            return
        }
        #expect(failure.recordName == "a")
        #expect(failure.zoneID?.zoneName == "z")
        #expect(failure.error.frameworkCode == .internalError)
        #expect(failure.error.reason.contains("at fields.beds.type:"))
        #expect(other.recordName == "b")
        #expect(throws: WireError.self) {
            try records("{\(fields)}")
        }
    }

    /// A client looks up the server's record that is left out.
    @Test("A failure is read without a record of it that has malformed fields")
    func failureIsReadWithoutARecordWithMalformedFields() throws {
        let malformed = #"{"recordName":"a","fields":{"beds":{"value":1,"type":"X"}}}"#
        let whole = #"{"recordName":"a","fields":{}}"#
        let conflict = #""recordName":"a","serverErrorCode":"CONFLICT","reason":"r""#
        let answer = try read(
            RecordsLookup.Answer.self,
            """
            {"records":[{\(conflict),"serverRecord":\(malformed),"ancestorRecord":\(whole)},\
            {\(conflict),"serverRecord":\(whole),"ancestorRecord":\(malformed)},\(whole)]}
            """)
        guard case .failure(let first) = answer.records[0],
            case .failure(let second) = answer.records[1], case .record = answer.records[2]
        else {
            Issue.record("The first two results must be failures, and the third a record.")
            return
        }
        #expect(first.error.code == .conflict && second.error.code == .conflict)
        #expect(first.serverRecord == nil && first.ancestorRecord?.recordName == "a")
        #expect(second.serverRecord?.recordName == "a" && second.ancestorRecord == nil)
    }

    static let inferred: [(String, FieldValue)] = [
        (#""x""#, .string("x")), ("22", .int64(22)), ("22.5", .double(22.5)),
        ("true", .int64(1)), ("false", .int64(0)),
        ("18446744073709551615", .double(1.8446744073709552e19)),
        (#"{"latitude":1,"longitude":2}"#, .location(Location(latitude: 1, longitude: 2))),
        (#"{"recordName":"r"}"#, .reference(Reference(recordName: "r"))),
        (#"{"receipt":"r"}"#, .asset(AssetReceipt(receipt: "r"))),
        (#"{"fileChecksum":"c"}"#, .asset(AssetReceipt(fileChecksum: "c"))),
        ("[]", .emptyList), (#"["a"]"#, .stringList(["a"])), ("[1,2]", .int64List([1, 2])),
        ("[1,2.5]", .doubleList([1, 2.5])), ("[2.5,1]", .doubleList([2.5, 1])),
        (#"[{"recordName":"r"}]"#, .referenceList([Reference(recordName: "r")])),
    ]

    @Test("The type of an untyped value is inferred from its form", arguments: inferred)
    func untypedValueTypeIsInferred(json: String, value: FieldValue) throws {
        #expect(
            try field(#"{"value":\#(json)}"#)
                == Field(name: "a", value: value, isTypeDeclared: false))
        #expect(
            try field(#"{"value":\#(json),"type":null}"#)
                == Field(name: "a", value: value, isTypeDeclared: false))
    }

    static let tagged: [(String, String, FieldValue)] = [
        ("NUMBER_INT64", "1", .int64(1)), ("INT", "1", .int64(1)),
        ("NUMBER_DOUBLE", "1", .double(1)), ("DATETIME", "5", .timestamp(milliseconds: 5)),
        ("TIMESTAMP", "-5", .timestamp(milliseconds: -5)), ("BYTE", #""AQI=""#, .bytes([1, 2])),
        ("BYTES", #""AQI""#, .bytes([1, 2])), ("BYTES", #""""#, .bytes([])),
        ("ASSET", #"{"receipt":"r"}"#, .asset(AssetReceipt(receipt: "r"))),
        ("ASSET_LIST", #"[{"size":3}]"#, .assetList([AssetReceipt(sizeBytes: 3)])),
        ("INT64", #""-12""#, .int64(-12)), ("INT64", "true", .int64(1)),
        ("INT64", "3.0", .int64(3)),
        ("DOUBLE", #""2.5e3""#, .double(2500)), ("DOUBLE", "2", .double(2)),
        ("TIMESTAMP", #""1735689600000""#, .timestamp(milliseconds: 1_735_689_600_000)),
        ("INT64_LIST", #"["1",2]"#, .int64List([1, 2])), ("DOUBLE_LIST", "[]", .doubleList([])),
        (
            "LOCATION", #"{"latitude":1,"longitude":2,"speed":null}"#,
            .location(Location(latitude: 1, longitude: 2))
        ),
    ]

    @Test("Type aliases and numbers as strings are read", arguments: tagged)
    func typeAliasesAndNumberStringsAreRead(type: String, json: String, value: FieldValue) throws {
        #expect(
            try field(#"{"value":\#(json),"type":"\#(type)"}"#) == Field(name: "a", value: value))
    }

    @Test("A flat LIST and UNKNOWN_LIST take the type of their members")
    func flatListTypeIsInferredFromElements() throws {
        #expect(
            try field(#"{"value":["x"],"type":"LIST"}"#)
                == Field(name: "a", value: .stringList(["x"]), isTypeDeclared: false))
        #expect(
            try field(#"{"value":[],"type":"UNKNOWN_LIST"}"#)
                == Field(name: "a", value: .emptyList, isTypeDeclared: false))
    }

    @Test("A null value clears the field, and a null field is ignored")
    func nullValueClearsTheField() throws {
        #expect(
            try field(#"{"value":null}"#) == Field(name: "a", value: nil, isTypeDeclared: false))
        #expect(
            try field(#"{"value":null,"type":"STRING"}"#)
                == Field(name: "a", value: nil, isTypeDeclared: true))
        #expect(try RecordFields.encoded(Array(#"{"a":null}"#.utf8)).values().isEmpty)
    }

    @Test("Encrypted values are marked by a flag or by their type")
    func encryptedValueIsMarkedByFlagOrType() throws {
        let flagged = try field(#"{"value":"x","type":"STRING","isEncrypted":true}"#)
        #expect(flagged == Field(name: "a", value: .string("x"), isEncrypted: true))
        let numbered = try field(#"{"value":"x","type":"STRING","isEncrypted":1}"#)
        #expect(numbered == flagged)
        #expect(throws: WireError.self) { try field(#"{"value":"x","isEncrypted":"yes"}"#) }
        let tagged = try field(#"{"value":"AQI=","type":"ENCRYPTED_BYTES"}"#)
        #expect(tagged.value == .bytes([1, 2]))
        #expect(tagged.isEncrypted)
    }

    static let encryptedValues = [
        #"{"value":"AQI=","type":"ENCRYPTED_BYTES"}"#,
        #"{"value":"x","type":"ENCRYPTED_STRING"}"#,
        #"{"value":7,"type":"ENCRYPTED_INT64"}"#,
        #"{"value":["x"],"type":"ENCRYPTED_STRING_LIST"}"#,
        #"{"value":"AQI=","type":"BYTES","isEncrypted":true}"#,
    ]

    @Test("An encrypted value keeps the type it was sent with", arguments: encryptedValues)
    func encryptedTypeRoundTrips(_ json: String) throws {
        #expect(String(decoding: wireBytes(of: try field(json)), as: UTF8.self) == json)
    }

    @Test("The last one of repeated keys is used")
    func lastOfRepeatedKeysCounts() throws {
        let few = try RecordFields.encoded(
            Array(#"{"a":{"value":1},"b":{"value":2},"a":{"value":3}}"#.utf8)
        ).values()
        #expect(few.map(\.name) == ["b", "a"])
        #expect(few.last?.value == .int64(3))
        let many = (0..<100).map { #""f\#($0 % 50)":{"value":\#($0)}"# }.joined(separator: ",")
        let fields = try RecordFields.encoded(Array("{\(many)}".utf8)).values()
        #expect(fields.map(\.value) == (50..<100).map { .int64($0) })
        #expect(try read(DevSignIn.Request.self, #"{"user":"a","user":"b"}"#).user == "b")
    }

    @Test("NUL and surrogate pairs in strings are characters")
    func nulAndSurrogatePairsInStringsAreRead() throws {
        #expect(try read(DevSignIn.Request.self, #"{"user":"a\u0000b"}"#).user == "a\0b")
        #expect(try read(DevSignIn.Request.self, #"{"user":"\ud83d\ude00"}"#).user == "😀")
        #expect(try read(DevSignIn.Request.self, #"{"us\u0065r":"a"}"#).user == "a")
    }

    @Test("Unknown keys are ignored and nulls are absent")
    func unknownKeysAreIgnored() throws {
        let request = try read(
            RecordsModify.Request.self,
            #"""
            {"operations":[{"operationType":"delete","x":[{}],"record":{"recordName":"r",
             "pluginFields":{"y":1},"zoneID":null,"recordType":null,"fields":null}}],
             "atomic":null,"zoneID":null,"desiredKeys":null}
            """#)
        #expect(
            request
                == RecordsModify.Request(operations: [
                    .init(.delete, RecordDictionary(recordName: "r"))
                ]))
    }

    @Test("A parent is unchanged, set or cleared")
    func parentIsAbsentSetOrCleared() throws {
        func parent(_ json: String) throws -> RecordDictionary.ParentChange {
            try read(RecordDictionary.self, json).parentRecordName
        }
        #expect(try parent("{}") == .absent)
        #expect(try parent(#"{"parent":null}"#) == .none)
        #expect(try parent(#"{"parent":{"recordName":"p"}}"#) == .some("p"))
    }

    @Test("Zones of changes/zone inherit top-level defaults, in both spellings of the flag")
    func zoneChangesInheritTopLevelDefaults() throws {
        let request = try read(
            ChangesZone.Request.self,
            #"""
            {"resultsLimit":7,"desiredKeys":["a"],"reverse":true,"numberAsStrings":true,
             "syncToken":"never","zones":[{"zoneID":{"zoneName":"A"},"syncToken":"t"},
              {"zoneID":{"zoneName":"B"},"resultsLimit":9,"reverse":false,
               "numbersAsStrings":false,"desiredKeys":[]}]}
            """#)
        #expect(
            request.zones == [
                .init(
                    zoneID: ZoneIDDictionary(zoneName: "A"), syncToken: "t", resultsLimit: 7,
                    desiredKeys: ["a"], isReversed: true, numbersAsStrings: true),
                .init(zoneID: ZoneIDDictionary(zoneName: "B"), resultsLimit: 9, desiredKeys: []),
            ])
    }

    @Test("Zones of a lookup are read bare or wrapped")
    func zoneLookupReadsBareAndWrappedZones() throws {
        let request = try read(
            ZonesLookup.Request.self,
            #"{"zones":[{"zoneName":"A"},{"zoneID":{"zoneName":"B","ownerRecordName":"o"}},{}]}"#)
        #expect(
            request.items == [
                ZoneIDDictionary(zoneName: "A"),
                ZoneIDDictionary(zoneName: "B", ownerRecordName: "o"),
                ZoneIDDictionary(zoneName: "_defaultZone"),
            ])
    }

    @Test("System fields are read under either key, and a location bare or wrapped")
    func queryReadsAlternativeSpellings() throws {
        let request = try read(
            RecordsQuery.Request.self,
            #"""
            {"query":{"recordType":"T","filterBy":[
              {"fieldName":"___createTime","comparator":"LESS_THAN","fieldValue":{"value":1}},
              {"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"x"}}],
             "sortBy":[{"systemFieldName":"modifiedTimestamp"},
              {"fieldName":"p","relativeLocation":{"latitude":1,"longitude":2}},
              {"fieldName":"p","relativeLocation":{"type":"LOCATION",
               "value":{"latitude":1,"longitude":2}},"ascending":false}]}}
            """#)
        let place = Location(latitude: 1, longitude: 2)
        #expect(
            request.query.filterBy == [
                .init(.lessThan, .system(.createdTimestamp), .int64(1), isTypeDeclared: false),
                .init(.containsAllTokens, .anySearchable, .string("x"), isTypeDeclared: false),
            ])
        #expect(
            request.query.sortBy == [
                .init(.system(.modifiedTimestamp)),
                .init(.user("p"), relativeLocation: place),
                .init(.user("p"), isAscending: false, relativeLocation: place),
            ])
    }

    @Test("A short GUID is a string or a dictionary")
    func shortGUIDIsReadFromStringOrDictionary() throws {
        #expect(try read(RecordDictionary.self, #"{"shortGUID":"g"}"#).shortGUID == "g")
        #expect(try read(RecordDictionary.self, #"{"shortGUID":{"value":"g"}}"#).shortGUID == "g")
    }

    @Test("The caller is read bare and as documented")
    func callerIsReadBareOrInUserList() throws {
        let bare = try read(UsersCaller.Answer.self, #"{"userRecordName":"_a"}"#)
        let documented = try read(UsersCaller.Answer.self, #"{"users":[{"userRecordName":"_a"}]}"#)
        #expect(bare == documented)
    }

    @Test("An item is an error exactly when it has a code")
    func itemWithErrorCodeIsAFailure() throws {
        let answer = try read(
            RecordsLookup.Answer.self,
            #"""
            {"records":[{"recordName":"a","reason":"none"},{"recordName":"b","deleted":true},
             {"recordName":"c","serverErrorCode":"SOMETHING_NEW","retryAfter":"3"},
             {"extensionErrorCode":"E","reason":"r"}]}
            """#)
        #expect(
            answer.records == [
                .record(RecordDictionary(recordName: "a")),
                .deleted(.init(recordName: "b")),
                .failure(
                    RecordFailure(
                        recordName: "c",
                        error: ServiceError(
                            .init(rawValue: "SOMETHING_NEW"), "SOMETHING_NEW", retryAfterSeconds: 3)
                    )),
                .failure(
                    RecordFailure(recordName: nil, error: ServiceError(.init(rawValue: "E"), "r"))),
            ])
    }

    @Test("A long poll without a notification has an empty object or no body")
    func emptyPollBodyIsNoNotification() throws {
        for body in ["", "{}"] {
            let payload = try Array(body.utf8).withUnsafeBytes {
                try NotificationPayload.read(from: $0)
            }
            #expect(payload == nil)
        }
        #expect(NotificationPayload.wireBytes(of: nil) == Array("{}".utf8))
    }

    @Test("An empty body is an empty object")
    func emptyBodyReadsAsEmptyObject() throws {
        #expect(try readWire(ChangesDatabase.Request.self, from: []) == .init())
        #expect(try readWire(EmptyBody.self, from: []) == EmptyBody())
    }
}

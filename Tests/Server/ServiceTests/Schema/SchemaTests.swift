import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// How record types and fields are created, and which values they accept.
@Suite struct SchemaTests {
    static func guessed(_ value: FieldValue) -> Field {
        Field(name: "value", value: value, isTypeDeclared: false)
    }

    /// The value of a first save, that of a second save without a type, and the stored value.
    @Test(arguments: [
        (FieldValue.double(1.5), FieldValue.int64(2), FieldValue.double(2) as FieldValue?),
        (.timestamp(milliseconds: 5), .int64(-7), .timestamp(milliseconds: -7)),
        (.bytes([1]), .string("AQI="), .bytes([1, 2])),
        (.bytes([1]), .string("not base64!"), nil),
        (.int64(1), .string("1"), nil),
        (.int64(1), .double(1.5), nil),
        (.string("a"), .int64(1), nil),
        (.doubleList([1]), .int64List([2, 3]), .doubleList([2, 3])),
        (.timestampList(milliseconds: [1]), .int64List([2]), .timestampList(milliseconds: [2])),
        (.bytesList([[1]]), .stringList(["AQI="]), .bytesList([[1, 2]])),
        (.stringList(["a"]), .emptyList, .stringList([])),
        (.string("a"), .emptyList, nil),
    ])
    func undeclaredValueTakesTheFieldsType(
        _ first: FieldValue, _ second: FieldValue, _ stored: FieldValue?
    ) async throws {
        let alice = try await World().person("alice")
        try await alice.modify([hut(.create, "a", [Field(name: "value", value: first)])])
        let result = try await alice.modify([hut(.create, "b", [Self.guessed(second)])])[0]
        #expect(result.values["value"] == stored)
        #expect((result.code == .badRequest) == (stored == nil))
        if stored == nil {
            let tag = try #require(first.type).rawValue
            #expect(result.failed?.error.reason == "Invalid value, expected type \(tag).")
        }
    }

    @Test func declaredTypeMustMatchTheField() async throws {
        let alice = try await World().person("alice")
        try await alice.modify([
            hut(.create, "a", [Field(name: "value", value: .double(1))])
        ])
        let result = try await alice.modify([
            hut(.create, "b", [Field(name: "value", value: .int64(1))])
        ])
        #expect(result[0].code == .badRequest)
    }

    @Test func firstValueDeterminesTheFieldsType() async throws {
        let alice = try await World().person("alice")
        let results = try await alice.modify([
            hut(.create, "a", [Field(name: "value", value: .string("x"))]),
            hut(.create, "b", [Field(name: "value", value: .int64(1))]),
            hut(.create, "c", [Field(name: "value", value: .string("y"))]),
        ])
        #expect(results.map(\.code) == [nil, .badRequest, nil])
    }

    @Test func productionRefusesNewTypesAndFields() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let address = ContainerAddress(container: World.container, environment: .production)
        _ = try await storage.directory.extendSchema(
            of: address, with: [SchemaFieldRow(recordType: "Hut", field: "beds", type: .int64)])
        let alice = try await World(storage, environment: .production).person("alice")
        let results = try await alice.modify([
            hut(.create, "a", [beds(1)]), hut(.create, "b", [text("name", "x")]),
            hut(.create, "c", type: "Trail"),
        ])
        #expect(
            results.map(\.failed?.error.reason) == [
                nil, "Cannot create or modify field 'name' in record 'Hut' in production schema",
                "Cannot create new type Trail in production schema",
            ])
        #expect(
            results.map(\.failed?.error.stratusCode) == [
                nil, .notInProductionSchema, .notInProductionSchema,
            ])
        #expect(results.map(\.code) == [nil, .badRequest, .badRequest])
        #expect(try await storage.directory.schema(of: address).version == 1)
    }

    /// A full type or container stays full: saving other records does not make room.
    @Test(arguments: Backend.allCases) func recordTypeHasAFieldLimit(
        _ backend: Backend
    ) async throws {
        let alice = try await World.alice(backend.storage()) {
            $0.fieldsPerRecordType = 3
            $0.recordTypesPerContainer = 2
        }
        func hutWith(_ name: String, _ fields: [String]) -> RecordsModify.Operation {
            hut(.create, name, fields.map { text($0, "x") })
        }
        let results = try await alice.modify([
            hutWith("a", ["one", "two"]), hutWith("b", ["two", "three"]), hutWith("c", ["four"]),
            hutWith("d", ["three", "one"]), hut(.create, "e", type: "Trail"),
            hut(.create, "f", type: "Bench"),
        ])
        #expect(results.map(\.code) == [nil, nil, .badRequest, nil, nil, .badRequest])
        #expect(results[2].failed?.error.frameworkCode == .limitExceeded)
        #expect(results[5].failed?.error.frameworkCode == .limitExceeded)
        #expect(try await alice.modify([hutWith("g", ["four"])])[0].code == .badRequest)
        #expect(try await alice.modify([hutWith("h", ["one", "two", "three"])])[0].code == nil)
    }

    @Test func fieldOverTheDefaultLimitIsRefused() async throws {
        let alice = try await World().person("alice")
        let fields = (0..<256).map { text("f\($0)", "x") }
        #expect(try await alice.modify([hut(.create, "a", fields)])[0].code == nil)
        #expect(
            try await alice.modify([hut(.create, "b", [text("f256", "x")])])[0].code == .badRequest)
        #expect(try await alice.modify([hut(.create, "c", [text("f255", "x")])])[0].code == nil)
    }

    /// Two services save at once on one directory: no fields are lost, and both services see all of them.
    @Test func concurrentSavesShareOneSchema() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let world = World(storage)
        let alice = try await world.person("alice")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let saved = try await alice.modify([
                        hut(.create, "h\(number)", [text("f\(number)", "x"), beds(1)])
                    ])
                    #expect(saved[0].code == nil)
                }
            }
            try await group.waitForAll()
        }
        let schema = try await world.service.schemaDeployment(of: World.container)
            .schema(in: .development)
        #expect(schema.types["Hut"]?.count == 46)
        #expect(try await alice.modify([hut(.create, "last", [text("f7", "y")])])[0].code == nil)
    }

    @Test func encryptedFieldsStayEncryptedAndPrivate() async throws {
        let alice = try await World().person("alice")
        let secret = Field(name: "secret", value: .string("x"), isEncrypted: true)
        let plain = Field(name: "secret", value: .string("x"))
        try await alice.modify([hut(.create, "a", [secret])])
        #expect(try await alice.modify([hut(.create, "b", [plain])])[0].code == .badRequest)
        let inPublic = try await alice.modify([hut(.create, "c", [secret])], scope: .public)
        #expect(inPublic[0].code == .badRequest)
        try await alice.modify([hut(.create, "d", [beds(1)])])
        let flagged = Field(name: "beds", value: .int64(1), isEncrypted: true)
        #expect(try await alice.modify([hut(.create, "e", [flagged])])[0].code == .badRequest)
        // The public database treats the field as an encrypted one, and accepts no value for it.
        let plainInPublic = try await alice.modify([hut(.create, "f", [plain])], scope: .public)
        #expect(
            plainInPublic[0].failed?.error.reason
                == "encrypted fields are not supported in the public database")
    }

    /// The refusals of encrypted values that were observed with CloudKit: a value without a type counts as
    /// the bytes of a ciphertext.
    @Test func undeclaredEncryptedValueIsBytes() async throws {
        let alice = try await World().person("alice")
        func save(_ field: Field) async throws -> RecordResult {
            try await alice.modify([hut(.create, nil, [field])])[0]
        }
        func secret(_ name: String, _ value: FieldValue, isTypeDeclared: Bool = false) -> Field {
            Field(
                name: name, value: value, isTypeDeclared: isTypeDeclared, isEncrypted: true)
        }
        #expect(
            try await save(secret("word", .string("a b"), isTypeDeclared: true)).code == nil)
        // A value that a device encrypted is bytes, whatever its type was before.
        let sealed = try await save(secret("word", .bytes([1, 2]), isTypeDeclared: true))
        #expect(sealed.values == ["word": .bytes([1, 2])])
        let reasons = [
            try await save(secret("word", .string("not base64!"))),
            try await save(secret("word", .int64(7))),
            try await save(secret("word", .string("AQI="))),
            try await save(secret("pointer", .reference(Reference(recordName: "a")))),
        ].map(\.failed?.error.reason)
        #expect(
            reasons == [
                "byte values must be base64 encoded", "byte values must be base64 encoded",
                "Invalid value for field 'word': the value's type is ENCRYPTED_BYTES, "
                    + "the field is defined as ENCRYPTED_STRING",
                "References and assets cannot be encrypted values.",
            ])
        let fresh = try await save(secret("key", .string("AQI=")))
        #expect(fresh.values == ["key": .bytes([1, 2])])
    }

    /// The marks that CloudKit's dashboard shows for fields that were created by a save.
    @Test func newFieldsGetTheDefaultMarks() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let fields: [(FieldValue, FieldIndexes)] = [
            (.string("x"), [.queryable, .sortable, .searchable]),
            (.int64(1), [.queryable, .sortable]), (.double(1), [.queryable, .sortable]),
            (.timestamp(milliseconds: 1), [.queryable, .sortable]),
            (.location(Location(latitude: 1, longitude: 2)), [.queryable, .sortable]),
            (.reference(Reference(recordName: "b")), .queryable),
            (.stringList(["x"]), .queryable), (.bytes([1]), []), (.bytesList([[1]]), []),
        ]
        let secret = Field(name: "secret", value: .string("x"), isEncrypted: true)
        let saved = try await alice.modify([
            hut(
                .create, "a",
                [secret]
                    + fields.enumerated().map { Field(name: "f\($0)", value: $1.0) })
        ])
        #expect(saved[0].code == nil)
        let rows = try await world.service.storage.directory.schema(of: world.address).fields
        let marks = Dictionary(
            uniqueKeysWithValues: rows.map { ($0.field ?? "", $0.indexes) })
        for (number, field) in fields.enumerated() {
            #expect(marks["f\(number)"] == field.1)
        }
        #expect(marks["secret"] == [])
        #expect(marks["___recordID"] == .queryable)
        #expect(marks["___createdBy"] == .queryable)
        #expect(marks["___modifiedBy"] == .queryable)
        #expect(marks["___createTime"] == [.queryable, .sortable])
        #expect(marks["___modTime"] == [.queryable, .sortable])
        #expect(marks.count == fields.count + 6)
    }

    @Test func invalidFieldNameIsRefused() async throws {
        let alice = try await World().person("alice")
        for name in ["", "2nd", "a-b"] {
            let result = try await alice.modify([hut(.create, "x", [text(name, "y")])])
            #expect(result[0].code == .badRequest)
        }
        // As Apple's service reports its own fields.
        let result = try await alice.modify([hut(.create, "x", [text("_a", "y")])])
        #expect(result[0].code == .accessDenied)
    }
}

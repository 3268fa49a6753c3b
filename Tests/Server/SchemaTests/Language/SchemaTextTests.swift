import StratusRecords
import StratusSchema
import StratusTesting
import TestSeeds
import Testing

/// Reading and writing the schema language.
@Suite struct SchemaTextTests {
    /// All keywords of Apple's schema language, and the spelling variants that it allows.
    static let everything = """
        // Roles may be made anywhere.
        DEFINE SCHEMA
            CREATE ROLE editor;
            RECORD TYPE Hut (
                "___recordID"   REFERENCE QUERYABLE,
                "___createTime" TIMESTAMP,
                beds            INT64 QUERYABLE SORTABLE,
                price           NUMBER PREFERRED AS DOUBLE,
                rooms           NUMBER PREFERRED AS INT64,
                rating          NUMBER,
                name            STRING SEARCHABLE QUERYABLE SORTABLE, -- in any order
                note            ENCRYPTED STRING,
                plan            ASSET, photos LIST<ASSET>,
                place LOCATION, key BYTES, trail REFERENCE, opened TIMESTAMP, height DOUBLE,
                tags            LIST < STRING > queryable,
                codes           LIST<ENCRYPTED BYTES>,
                "grant"         STRING, "Queryable" STRING,
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE TO editor,
                grant create to editor,
                GRANT READ TO author
            );
            CREATE ROLE author; /* after its
            first use */
            RECORD TYPE Bench ();
            RECORD TYPE "cloudkit.share" ( "cloudkit.title" STRING );
        """

    @Test func parserReadsEveryKeyword() throws {
        let schema = try ContainerSchema(text: Self.everything)
        #expect(schema.roles == ["editor", "author"])
        #expect(Set(schema.types.keys) == ["Hut", "Bench", "cloudkit.share"])
        func rule(_ name: String) -> ContainerSchema.FieldRule? {
            schema.rule(for: name, of: "Hut")
        }
        #expect(rule("___recordID") == .init(type: .reference, indexes: .queryable))
        #expect(rule("___createTime") == nil)
        #expect(rule("beds") == .init(type: .int64, indexes: [.queryable, .sortable]))
        #expect(rule("price") == .init(type: .double))
        #expect(rule("rooms") == .init(type: .int64))
        #expect(rule("rating") == .init(type: .double))
        #expect(rule("name")?.indexes == [.queryable, .sortable, .searchable])
        #expect(rule("note") == .init(type: .string, isEncrypted: true))
        #expect(rule("plan")?.type == .asset)
        #expect(rule("photos")?.type == .assetList)
        #expect(rule("place")?.type == .location)
        #expect(rule("key")?.type == .bytes)
        #expect(rule("trail")?.type == .reference)
        #expect(rule("opened")?.type == .timestamp)
        #expect(rule("height")?.type == .double)
        #expect(rule("tags") == .init(type: .stringList, indexes: .queryable))
        #expect(rule("codes") == .init(type: .bytesList, isEncrypted: true))
        #expect(rule("grant")?.type == .string)
        #expect(rule("Queryable")?.type == .string)
        #expect(
            schema.grants(of: "Hut").permissions == [
                "_creator": .write, "editor": [.read, .create], "author": .read,
            ])
        #expect(schema.grants(of: "Bench") == .standard)
        #expect(schema.rule(for: "cloudkit.title", of: "cloudkit.share")?.type == .string)
    }

    @Test func printerWritesCanonicalText() throws {
        let schema = try ContainerSchema(
            text: """
                DEFINE SCHEMA
                RECORD TYPE Hut ("grant" STRING, beds INT64 SORTABLE QUERYABLE,
                    codes LIST<ENCRYPTED BYTES>, "___recordID" REFERENCE QUERYABLE,
                    GRANT READ TO editor, GRANT WRITE, READ TO "_creator");
                RECORD TYPE Bench (wood STRING);
                CREATE ROLE editor;
                """)
        #expect(
            schema.text == """
                DEFINE SCHEMA

                    CREATE ROLE editor;

                    RECORD TYPE Bench (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE,
                        wood            STRING,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                    RECORD TYPE Hut (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE QUERYABLE,
                        beds            INT64 QUERYABLE SORTABLE,
                        codes           LIST<ENCRYPTED BYTES>,
                        "grant"         STRING,
                        GRANT READ, WRITE TO "_creator",
                        GRANT READ TO editor
                    );

                """)
    }

    /// An error is reported in one sentence, with its line and column.
    @Test(arguments: [
        ("", 1, 1, "Expected DEFINE, found the end of the text."),
        ("DEFINE\n  TABLE", 2, 3, "Expected SCHEMA, found 'TABLE'."),
        ("DEFINE SCHEMA DROP", 1, 15, "Expected CREATE ROLE or RECORD TYPE, found 'DROP'."),
        ("DEFINE SCHEMA CREATE ROLE _me;", 1, 27, "A role's name is a letter,"),
        ("DEFINE SCHEMA CREATE ROLE a; CREATE ROLE a;", 1, 42, "The role 'a' is defined twice."),
        ("DEFINE SCHEMA RECORD TYPE T (", 1, 30, "Expected a field's name or GRANT, found the end"),
        ("DEFINE SCHEMA RECORD TYPE T (a STRING b", 1, 39, "Expected ',' or ')', found 'b'."),
        ("DEFINE SCHEMA RECORD TYPE T (a STRING)", 1, 39, "Expected ';', found the end"),
        ("DEFINE SCHEMA RECORD TYPE T (a STRING,)", 1, 39, "Expected a field's name or GRANT,"),
        ("DEFINE SCHEMA RECORD TYPE T (a TEXT)", 1, 32, "Expected a field's type, found 'TEXT'."),
        (
            "DEFINE SCHEMA RECORD TYPE T (a STRING, a INT64)", 1, 40,
            "The field 'a' is defined twice."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (); RECORD TYPE T ();", 1, 45,
            "The record type 'T' is defined"
        ),
        ("DEFINE SCHEMA RECORD TYPE 1T ();", 1, 27, "A record type's name is a letter,"),
        ("DEFINE SCHEMA RECORD TYPE T (queryable STRING)", 1, 30, "'queryable' is a keyword"),
        ("DEFINE SCHEMA RECORD TYPE T (\"a b\" STRING)", 1, 30, "A field's name is a letter,"),
        ("DEFINE SCHEMA RECORD TYPE T (\"a\n\" STRING)", 1, 30, "The quotation mark is not closed"),
        (
            "DEFINE SCHEMA RECORD TYPE T (a ASSET QUERYABLE)", 1, 38,
            "A field of this type cannot be"
        ),
        ("DEFINE SCHEMA RECORD TYPE T (a LIST<INT64> SEARCHABLE)", 1, 44, "A field of this type"),
        (
            "DEFINE SCHEMA RECORD TYPE T (a INT64 SORTABLE SORTABLE)", 1, 47,
            "SORTABLE is repeated."
        ),
        ("DEFINE SCHEMA RECORD TYPE T (a ENCRYPTED STRING QUERYABLE)", 1, 49, "An encrypted field"),
        (
            "DEFINE SCHEMA RECORD TYPE T (a ENCRYPTED REFERENCE)", 1, 42,
            "References and assets cannot"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (a LIST<LIST<INT64>>)", 1, 37,
            "Expected a field's type, found"
        ),
        ("DEFINE SCHEMA RECORD TYPE T (a NUMBER PREFERRED AS STRING)", 1, 52, "Expected INT64 or"),
        ("DEFINE SCHEMA RECORD TYPE T (___etag INT64)", 1, 38, "The system field '___etag' is of"),
        ("DEFINE SCHEMA RECORD TYPE T (___secret INT64)", 1, 30, "A field's name is a letter,"),
        (
            "DEFINE SCHEMA RECORD TYPE T (GRANT DELETE TO a)", 1, 36,
            "Expected READ, CREATE or WRITE,"
        ),
        ("DEFINE SCHEMA RECORD TYPE T (GRANT READ, a STRING)", 1, 42, "Expected READ, CREATE or"),
        (
            "DEFINE SCHEMA\r\nRECORD TYPE T (GRANT READ TO me);", 2, 30,
            "The role 'me' has no CREATE ROLE; add one."
        ),
        ("DEFINE SCHEMA // é\n/* ß", 2, 1, "The comment is not closed"),
        ("DEFINE SCHEMA é", 1, 15, "The character 'é' belongs to no word or sign."),
    ])
    func syntaxErrorHasLineAndColumn(
        _ text: String, _ line: Int, _ column: Int, _ message: String
    ) throws {
        let error = try #require(Self.refusal(of: text))
        #expect(error.message.hasPrefix(message), "\(error)")
        #expect(error.line == line)
        #expect(error.column == column)
        #expect(error.message.hasSuffix("."))
    }

    @Test func parserEnforcesLimits() throws {
        var limits = Limits()
        limits.fieldsPerRecordType = 1
        limits.recordTypesPerContainer = 1
        limits.rolesPerContainer = 1
        let refused = [
            "DEFINE SCHEMA RECORD TYPE T (a STRING, ___etag STRING, b STRING);",
            "DEFINE SCHEMA RECORD TYPE T (); RECORD TYPE U ();",
            "DEFINE SCHEMA CREATE ROLE a; CREATE ROLE b;",
            "DEFINE SCHEMA RECORD TYPE T (\(String(repeating: "a", count: 2_000)) STRING);",
            "DEFINE SCHEMA CREATE ROLE \"\(String(repeating: "a", count: 2_000))\";",
        ]
        for text in refused { #expect(Self.refusal(of: text, limits) != nil) }
        #expect(Self.refusal(of: "DEFINE SCHEMA RECORD TYPE T (a STRING);", limits) == nil)
        limits.schemaTextBytes = 10
        #expect(Self.refusal(of: "DEFINE SCHEMA RECORD TYPE T (a STRING);", limits) != nil)
    }

    // MARK: For all schemas

    @Test(arguments: Seeds.forTest("SchemaTextTests", count: 200))
    func schemaTextRoundTrips(seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        let schema = Self.anySchema(&numbers)
        let text = schema.text
        let again = try ContainerSchema(text: text)
        #expect(again == schema)
        #expect(again.text == text)
        #expect(SchemaDifference(from: schema, to: again).changes.isEmpty)
    }

    /// Damaged texts are refused with a place in the text, or are schemas that can be written.
    @Test(arguments: Seeds.forTest("SchemaTextTests, damaged", count: 40))
    func damagedTextIsRefusedOrParses(seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        for _ in 0..<100 {
            let text = Self.damaged(Self.everything, &numbers)
            guard let error = Self.refusal(of: text) else {
                let schema = try ContainerSchema(text: text)
                #expect(try ContainerSchema(text: schema.text) == schema)
                continue
            }
            let lines = text.unicodeScalars.split(
                omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r" })
            #expect((1...lines.count).contains(error.line), "\(error)")
            #expect((1...text.unicodeScalars.count + 1).contains(error.column), "\(error)")
        }
    }

    static func refusal(of text: String, _ limits: Limits = Limits()) -> SchemaSyntaxError? {
        do {
            _ = try ContainerSchema(text: text, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    private static func damaged(_ text: String, _ numbers: inout SeededNumbers) -> String {
        var scalars = Array(text.unicodeScalars)
        let pieces = [
            ",", ";", "(", ")", "<", ">", "\"", "/*", "*/", "--", "\n", "GRANT", "LIST",
            "ENCRYPTED",
            "\u{0}", "é", "\u{1F3D4}", "RECORD TYPE", "NUMBER", "_", "7",
        ]
        for _ in 0..<Int.random(in: 1...4, using: &numbers) {
            let start = Int.random(in: 0..<scalars.count, using: &numbers)
            let end = min(scalars.count, start + Int.random(in: 0...12, using: &numbers))
            let piece = pieces.randomElement(using: &numbers) ?? ""
            scalars.replaceSubrange(
                start..<end, with: Bool.random(using: &numbers) ? [] : Array(piece.unicodeScalars))
        }
        return String(String.UnicodeScalarView(scalars))
    }

    static func anySchema(_ numbers: inout SeededNumbers) -> ContainerSchema {
        var schema = ContainerSchema()
        let roles = ["editor", "Author", "sortable", "z9"].filter { _ in
            Bool.random(using: &numbers)
        }
        for role in roles { schema.addRole(role) }
        for number in 0..<Int.random(in: 0...4, using: &numbers) {
            let name = ["Hut", "GRANT", "trail_\(number)", "record"][number]
            schema.addType(name)
            for field in 0..<Int.random(in: 0...6, using: &numbers) {
                let fieldName = ["beds", "Preferred", "to", "LIST", "x_\(field)", "Z"][field]
                schema.setRule(anyRule(&numbers), for: fieldName, of: name)
            }
            for field in SchemaSystemField.allCases {
                let indexes = anySubset(of: field.type.possibleIndexes, &numbers)
                guard !indexes.isEmpty else { continue }
                schema.setRule(
                    .init(type: field.type, indexes: indexes), for: field.rawValue, of: name)
            }
            var grants = Grants()
            for role in roles + ["_world", "_icloud", "_creator"] {
                grants.permissions[role] = RecordPermissions(
                    rawValue: UInt8.random(in: 0...7, using: &numbers))
            }
            schema.setGrants(Bool.random(using: &numbers) ? grants : .standard, of: name)
        }
        return schema
    }

    private static func anyRule(_ numbers: inout SeededNumbers) -> ContainerSchema.FieldRule {
        let type = FieldType.allCases.randomElement(using: &numbers) ?? .string
        if type.canBeEncrypted, Bool.random(using: &numbers) {
            return .init(type: type, isEncrypted: true)
        }
        return .init(type: type, indexes: anySubset(of: type.possibleIndexes, &numbers))
    }

    private static func anySubset(
        of indexes: FieldIndexes, _ numbers: inout SeededNumbers
    ) -> FieldIndexes {
        indexes.intersection(FieldIndexes(rawValue: UInt8.random(in: 0...7, using: &numbers)))
    }
}

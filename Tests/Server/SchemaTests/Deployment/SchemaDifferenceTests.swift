import StratusSchema
import StratusTesting
import TestSeeds
import Testing

/// The changes between two schemas, and the invariants that they break.
@Suite struct SchemaDifferenceTests {
    static func schema(_ items: String, more: String = "") throws -> ContainerSchema {
        try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Hut (\(items)); \(more)")
    }

    static let before = "beds INT64 QUERYABLE, name STRING, secret ENCRYPTED STRING"

    /// Changes that break each invariant, and changes that break none.
    @Test(arguments: [
        (before + ", more STRING", trail + "RECORD TYPE New ();", [] as [SchemaInvariant]),
        ("beds INT64, name STRING SORTABLE, secret ENCRYPTED STRING", trail, []),
        (before + ", GRANT READ TO \"_creator\"", trail, []),
        (before, trail + "CREATE ROLE editor;", []),
        (before, "", [.noRecordTypeIsRemoved]),
        ("", trail, [.noFieldIsRemoved, .noFieldIsRemoved, .noFieldIsRemoved]),
        ("beds INT64, secret ENCRYPTED STRING", trail, [.noFieldIsRemoved]),
        ("beds DOUBLE, name STRING, secret ENCRYPTED STRING", trail, [.noFieldChangesItsType]),
        ("beds LIST<INT64>, name STRING, secret ENCRYPTED STRING", trail, [.noFieldChangesItsType]),
        ("beds INT64, name STRING, secret STRING", trail, [.noFieldBecomesEncryptedOrPlain]),
        (
            "beds INT64, name ENCRYPTED STRING, secret ENCRYPTED STRING", trail,
            [.noFieldBecomesEncryptedOrPlain]
        ),
        (
            "beds ENCRYPTED DOUBLE, secret ENCRYPTED STRING", "",
            [
                .noFieldChangesItsType, .noFieldBecomesEncryptedOrPlain, .noFieldIsRemoved,
                .noRecordTypeIsRemoved,
            ]
        ),
    ])
    func violationNamesItsInvariant(_ items: String, _ more: String, _ violated: [SchemaInvariant])
        throws
    {
        let old = try Self.schema(Self.before, more: Self.trail)
        let difference = SchemaDifference(from: old, to: try Self.schema(items, more: more))
        #expect(
            difference.violations.compactMap(\.violatedInvariant) == violated,
            "\(difference.changes)"
        )
    }

    static let trail = "RECORD TYPE Trail (a STRING);"

    @Test func eachChangeIsDescribedInOneLine() throws {
        let old = try Self.schema(
            "beds INT64 QUERYABLE, name STRING, secret STRING, old BYTES",
            more: "CREATE ROLE a; RECORD TYPE Gone ();")
        let new = try Self.schema(
            """
            beds INT64 SORTABLE, name INT64, secret ENCRYPTED STRING, ___recordID REFERENCE QUERYABLE,
            tags LIST<STRING> QUERYABLE, GRANT READ TO "_world", GRANT READ, WRITE TO b
            """, more: "CREATE ROLE b; RECORD TYPE New ();")
        let difference = SchemaDifference(from: old, to: new)
        #expect(
            difference.changes.map { change in
                change.description
                    + (change.violatedInvariant.map { "  (breaks the invariant: \($0))" } ?? "")
            } == [
                "- role a",
                "+ role b",
                "- record type Gone  (breaks the invariant: No record type is removed.)",
                "~ Hut.___recordID: +QUERYABLE",
                "~ Hut.beds: +SORTABLE -QUERYABLE",
                "~ Hut.name: STRING becomes INT64  (breaks the invariant: No field changes its type.)",
                "- Hut.old  (breaks the invariant: No field is removed.)",
                "~ Hut.secret: becomes ENCRYPTED  "
                    + "(breaks the invariant: No encrypted field becomes plain, nor the reverse.)",
                "+ Hut.tags STRING_LIST QUERYABLE",
                "~ Hut, grants to _creator: -WRITE",
                "~ Hut, grants to _icloud: -CREATE",
                "~ Hut, grants to b: +READ +WRITE",
                "+ record type New",
            ])
    }

    @Test(arguments: Seeds.forTest("SchemaDifferenceTests", count: 50))
    func differenceIsEmptyOnlyForEqualSchemas(seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        let one = SchemaTextTests.anySchema(&numbers)
        let other = SchemaTextTests.anySchema(&numbers)
        #expect(SchemaDifference(from: one, to: other).changes.isEmpty == (one == other))
        #expect(SchemaDifference(from: one, to: one).changes.isEmpty)
    }
}

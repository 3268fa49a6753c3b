import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

/// The filters that predicates become in a request.
@Suite struct PredicateTests {
    typealias Filter = QueryDictionary.Filter

    /// Runs a query and returns the filters that the service received.
    private func filters(_ predicate: NSPredicate) async throws -> [Filter]? {
        let transport = ScriptedTransport { _, _ in RecordsQuery.Answer(records: []) }
        let query = CKQuery(recordType: "Hut", predicate: predicate)
        _ = try await container(transport).privateCloudDatabase.records(matching: query)
        return transport.requests(RecordsQuery.Request.self).first?.query.filterBy
    }

    static let owner = CKRecord.ID(recordName: "o")
    static let date = Date(timeIntervalSince1970: 2)
    static let ownerValue = FieldValue.reference(
        Reference(recordName: "o", zoneID: ZoneID(), action: .none))

    static func filter(
        _ comparator: QueryDictionary.Comparator, _ name: String, _ value: FieldValue
    ) -> Filter {
        Filter(comparator, .user(name), value)
    }

    // NSPredicate is not Sendable; nothing changes these after they were created.
    nonisolated(unsafe) static let table: [(NSPredicate, [Filter])] = [
        (NSPredicate(value: true), []),
        (NSPredicate(format: "TRUEPREDICATE"), []),
        (NSPredicate(format: "a = %@", "x"), [filter(.equals, "a", .string("x"))]),
        (NSPredicate(format: "a == 'it\\'s'"), [filter(.equals, "a", .string("it's"))]),
        (NSPredicate(format: "%K == %@", "a", "x"), [filter(.equals, "a", .string("x"))]),
        (NSPredicate(format: "a != %d", 3), [filter(.notEquals, "a", .int64(3))]),
        (NSPredicate(format: "a <> 3"), [filter(.notEquals, "a", .int64(3))]),
        (NSPredicate(format: "a < %f", 1.5), [filter(.lessThan, "a", .double(1.5))]),
        (NSPredicate(format: "a <= %ld", 3), [filter(.lessThanOrEquals, "a", .int64(3))]),
        (NSPredicate(format: "a =< -3"), [filter(.lessThanOrEquals, "a", .int64(-3))]),
        (NSPredicate(format: "a > 2.5"), [filter(.greaterThan, "a", .double(2.5))]),
        (NSPredicate(format: "a >= 2"), [filter(.greaterThanOrEquals, "a", .int64(2))]),
        (NSPredicate(format: "3 < a"), [filter(.greaterThan, "a", .int64(3))]),
        (
            NSPredicate(format: "creationDate > %@", date as CVarArg),
            [Filter(.greaterThan, .system(.createdTimestamp), .timestamp(milliseconds: 2_000))]
        ),
        (
            NSPredicate(format: "___modTime > %@", date),
            [Filter(.greaterThan, .system(.modifiedTimestamp), .timestamp(milliseconds: 2_000))]
        ),
        (
            NSPredicate(format: "a < now()"),
            [filter(.lessThan, "a", .timestamp(milliseconds: 1_800_000_000_000))]
        ),
        (NSPredicate(format: "a IN %@", ["x", "y"]), [filter(.in, "a", .stringList(["x", "y"]))]),
        (NSPredicate(format: "a in {1, 2}"), [filter(.in, "a", .int64List([1, 2]))]),
        (
            NSPredicate(format: "ANY tags IN %@", ["x"]),
            [filter(.listContainsAny, "tags", .stringList(["x"]))]
        ),
        (NSPredicate(format: "%@ IN tags", "x"), [filter(.listContains, "tags", .string("x"))]),
        (
            NSPredicate(format: "tags CONTAINS %@", "x"),
            [filter(.listContains, "tags", .string("x"))]
        ),
        (NSPredicate(format: "a BEGINSWITH %@", "x"), [filter(.beginsWith, "a", .string("x"))]),
        (
            NSPredicate(format: "any tags beginswith 'x'"),
            [filter(.listMemberBeginsWith, "tags", .string("x"))]
        ),
        (NSPredicate(format: "SOME tags = 'x'"), [filter(.listContains, "tags", .string("x"))]),
        (
            NSPredicate(format: "ANY {'x', 'y'} IN tags"),
            [filter(.listContainsAny, "tags", .stringList(["x", "y"]))]
        ),
        (
            NSPredicate(format: "ALL %@ IN tags", ["x", "y"]),
            [filter(.listContainsAll, "tags", .stringList(["x", "y"]))]
        ),
        (
            NSPredicate(format: "NOT (ALL %@ IN tags)", ["x"]),
            [filter(.notListContainsAll, "tags", .stringList(["x"]))]
        ),
        (
            NSPredicate(format: "self CONTAINS[cd] 'Über den Gipfel'"),
            [Filter(.containsAllTokens, .anySearchable, .string("uber den gipfel"))]
        ),
        (
            NSPredicate(format: "SELF contains %@", "the marmot and the hut"),
            [Filter(.containsAllTokens, .anySearchable, .string("marmot hut"))]
        ),
        (
            NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "hut"),
            [Filter(.containsAllTokens, .anySearchable, .string("hut"))]
        ),
        (
            NSPredicate(
                format: "self.allTokens TOKENMATCHES[cdl] tokenize:using:(%@, 'Cdl')", "hut"),
            [Filter(.containsAllTokens, .anySearchable, .string("hut"))]
        ),
        (
            NSPredicate(format: "name TOKENMATCHES 'hut'"),
            [filter(.containsAllTokens, "name", .string("hut"))]
        ),
        (
            NSPredicate(format: "a == \"say \\\"hi\\\"\""),
            [filter(.equals, "a", .string("say \"hi\""))]
        ),
        (NSPredicate(format: "a == '\\u00e9\\n'"), [filter(.equals, "a", .string("é\n"))]),
        (
            NSPredicate(format: "a == %i AnD b == %lld", 1, 2),
            [
                filter(.equals, "a", .int64(1)), filter(.equals, "b", .int64(2)),
            ]
        ),
        (NSPredicate(format: "a == %.2f", 1.25), [filter(.equals, "a", .double(1.25))]),
        (NSPredicate(format: "a == '%@'"), [filter(.equals, "a", .string("%@"))]),
        (NSPredicate(format: "a == 1e3"), [filter(.equals, "a", .double(1_000))]),
        (NSPredicate(format: "#in == TRUE"), [filter(.equals, "in", .int64(1))]),
        (NSPredicate(format: "#any == 1"), [filter(.equals, "any", .int64(1))]),
        (NSPredicate(format: "#self == 1"), [filter(.equals, "self", .int64(1))]),
        (NSPredicate(format: "NOT #nil == 1"), [filter(.notEquals, "nil", .int64(1))]),
        (NSPredicate(format: "a == 1e-5"), [filter(.equals, "a", .double(1e-5))]),
        (NSPredicate(format: "a == -2.5E+3"), [filter(.equals, "a", .double(-2_500))]),
        (NSPredicate(format: "(a) > 3"), [filter(.greaterThan, "a", .int64(3))]),
        (
            NSPredicate(format: "((a) == (1)) AND (%@ IN (tags))", "x"),
            [filter(.equals, "a", .int64(1)), filter(.listContains, "tags", .string("x"))]
        ),
        (NSPredicate(format: "NOT ((a)) == 1"), [filter(.notEquals, "a", .int64(1))]),
        (
            NSPredicate(format: "ANY tags CONTAINS 'x'"),
            [filter(.listContains, "tags", .string("x"))]
        ),
        (
            NSCompoundPredicate(orPredicateWithSubpredicates: [NSPredicate(format: "a == 1")]),
            [filter(.equals, "a", .int64(1))]
        ),
        (
            NSCompoundPredicate(
                notPredicateWithSubpredicate: NSCompoundPredicate(andPredicateWithSubpredicates: [
                    NSPredicate(format: "a == 1")
                ])), [filter(.notEquals, "a", .int64(1))]
        ),
        (
            NSPredicate(
                format: String(repeating: "(", count: 50) + "a == 1"
                    + String(repeating: ")", count: 50)), [filter(.equals, "a", .int64(1))]
        ),
        (
            NSPredicate(format: "a BETWEEN %@", [1, 2.5]),
            [
                filter(.greaterThanOrEquals, "a", .double(1)),
                filter(.lessThanOrEquals, "a", .double(2.5)),
            ]
        ),
        (
            NSPredicate(format: "NOT (a BEGINSWITH 'x')"),
            [filter(.notBeginsWith, "a", .string("x"))]
        ),
        (NSPredicate(format: "NOT a IN %@", ["x"]), [filter(.notIn, "a", .stringList(["x"]))]),
        (NSPredicate(format: "!(a == 1)"), [filter(.notEquals, "a", .int64(1))]),
        (
            NSPredicate(format: "a BETWEEN {1, 5}"),
            [
                filter(.greaterThanOrEquals, "a", .int64(1)),
                filter(.lessThanOrEquals, "a", .int64(5)),
            ]
        ),
        (NSPredicate(format: "owner == %@", owner), [filter(.equals, "owner", ownerValue)]),
        (
            NSPredicate(format: "owner == %@", CKRecord(recordType: "T", recordID: owner)),
            [filter(.equals, "owner", ownerValue)]
        ),
        (
            NSPredicate(format: "recordID == %@", owner),
            [Filter(.equals, .system(.recordName), ownerValue)]
        ),
        (
            NSPredicate(format: "a == 1 AND (b == true && c == 'z')"),
            [
                filter(.equals, "a", .int64(1)), filter(.equals, "b", .int64(1)),
                filter(.equals, "c", .string("z")),
            ]
        ),
        (
            NSCompoundPredicate(andPredicateWithSubpredicates: [
                NSPredicate(format: "a == 1"),
                NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "b == 2")),
            ]), [filter(.equals, "a", .int64(1)), filter(.notEquals, "b", .int64(2))]
        ),
        (
            NSPredicate(format: "a == %@ AND b > %d", argumentArray: ["x", 3]),
            [filter(.equals, "a", .string("x")), filter(.greaterThan, "b", .int64(3))]
        ),
    ]

    @Test(arguments: 0..<table.count)
    func predicateBecomesQueryFilters(_ row: Int) async throws {
        let (predicate, expected) = Self.table[row]
        #expect(try await filters(predicate) == expected)
    }

    @Test func distancePredicateBecomesNearFilter() async throws {
        let place = CLLocation(latitude: 1, longitude: 2)
        let filters = try await filters(
            NSPredicate(
                format: "distanceToLocation:fromLocation:(spot, %@) < %f", place, 10_000.0))
        #expect(filters?.first?.comparator == .near)
        #expect(filters?.first?.field == .user("spot"))
        #expect(filters?.first?.distanceMetres == 10_000)
        let named = try await self.filters(
            NSPredicate(
                format: "distanceToLocation:fromLocation:(%K, %@) <= %d", "spot", place, 10_000))
        #expect(named?.first?.comparator == .near && named?.first?.field == .user("spot"))
        let mirrored = try await self.filters(
            NSPredicate(format: "%d > DISTANCETOLOCATION:FROMLOCATION:(%@, spot)", 500, place))
        #expect(mirrored?.first?.distanceMetres == 500)
    }

    @Test func falsePredicateSendsNoRequest() async throws {
        #expect(try await filters(NSPredicate(value: false)) == nil)
        #expect(
            try await filters(NSPredicate(format: "a == 1 AND FALSEPREDICATE"))
                == nil)
    }

    @Test(arguments: [
        ("a == 1 OR b == 2", "OR"), ("a LIKE 'x*'", "LIKE"), ("a ENDSWITH 'x'", "ENDSWITH"),
        ("a.b == 1", "letters"), ("ALL tags == 'x'", "ALL"),
        ("a == b", "field"), ("a BEGINSWITH[c] 'x'", "[c]"),
        ("a == 1 b == 2", "AND"), ("foo(a) == 1", "foo"),
        ("a == nil", "string"), ("NOT (a == 1 AND b == 2)", "NOT"), ("a BETWEEN 3", "BETWEEN"),
        ("a ~ 3", "~"), ("a IN 3", "IN"), ("a.b == 1", "a.b"), ("a == b", "“a”"),
        ("NONE tags == 'x'", "NONE"), ("a CONTAINS[c] 'x'", "[c]"), ("a == $x", "$"),
        ("a + 1 == 2", "+"), ("self == 'x'", "SELF"), ("a CONTAINS {'x', 'y'}", "CONTAINS"),
        ("distanceToLocation:fromLocation:(spot, 3) < 4", "CLLocation"),
        ("NOT (self CONTAINS 'x')", "NOT"), ("NOT (a BETWEEN {1, 2})", "NOT"),
        ("a == '\\u12'", "u"), ("self CONTAINS 3", "string"), ("a MATCHES 'x.*'", "MATCHES"),
        ("ANY tags > 3", "ANY"), ("SUBQUERY(a, $x, $x == 1)", "$"),
        ("a[0] == 1", "operator"),
    ])
    func unsupportedPredicateIsNamedInError(_ format: String, _ word: String) async {
        let error = await #expect(throws: CKError.self) {
            _ = try await filters(
                NSPredicate(format: format, argumentArray: []))
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains(word) == true, "\(error as Any)")
    }

    @Test func blockPredicateIsRefused() async {
        await #expect(throws: CKError(.invalidArguments)) {
            _ = try await filters(NSPredicate(block: { _, _ in true }))
        }
    }

    @Test func blockPredicateIsNeverRun() async throws {
        let log = Log()
        let block = NSPredicate(block: { _, _ in
            log.add("run")
            return true
        })
        let predicates = [
            block, NSCompoundPredicate(andPredicateWithSubpredicates: [block]),
        ]
        for predicate in predicates {
            // A predicate that cannot be sent fails when the query runs, not here.
            let query = CKQuery(recordType: "Hut", predicate: predicate)
            let subscription = CKQuerySubscription(
                recordType: "Hut", predicate: predicate, subscriptionID: "s")
            let database = database { _, _ in RecordsQuery.Answer(records: []) }
            await #expect(throws: CKError(.invalidArguments)) {
                _ = try await database.records(matching: query)
            }
            await #expect(throws: CKError(.invalidArguments)) {
                try await database.save(subscription)
            }
        }
        #expect(log.all.isEmpty)
    }

    /// Each of these could use up the stack of its parser.
    @Test(arguments: [
        ("(", "a == 1", ")"), ("NOT ", "a == 1", ""), ("!", "a == 1", ""), ("(", "a", ") == 1"),
        ("a IN {", "1", "}"), ("a IN ", "{{{", "}}}"),
    ])
    func deeplyNestedPredicateIsRefused(
        _ opening: String, _ middle: String, _ closing: String
    ) async {
        let format =
            String(repeating: opening, count: 50_000) + middle
            + String(repeating: closing, count: 50_000)
        await #expect(throws: CKError(.invalidArguments)) {
            _ = try await filters(NSPredicate(format: format))
        }
    }

    @Test func predicateEvaluatesRecordLocally() {
        let record = hut("a")
        record["beds"] = 4
        record["tags"] = ["x", "y"]
        record["name"] = "Gipfelblick"
        let judgements: [(String, Bool)] = [
            ("beds > 3", true), ("beds BETWEEN {5, 9}", false), ("tags CONTAINS 'x'", true),
            ("name BEGINSWITH 'Gipfel'", true), ("name == 'x' OR beds == 4", true),
            ("NOT beds IN {1, 4}", false), ("missing == 3", false), ("beds > 'x'", false),
            ("ANY tags IN {'y', 'z'}", true), ("self CONTAINS 'gipfelblick'", true),
            ("ALL {'x', 'y'} IN tags", true), ("ALL {'x', 'z'} IN tags", false),
            ("self CONTAINS 'GÏPFELBLICK'", true), ("self CONTAINS 'gipfel'", false),
            ("allTokens TOKENMATCHES[cdl] 'the gipfelblick'", true),
            ("ANY tags BEGINSWITH 'y'", true), ("ALL tags == 'x'", false),
            ("ANY tags CONTAINS 'y'", true), ("ANY tags CONTAINS 'z'", false),
            ("(beds) > 3", true),
        ]
        for (format, expected) in judgements {
            #expect(NSPredicate(format: format).evaluate(with: record) == expected, "\(format)")
        }
    }

    @Test func sortDescriptorsBecomeSortKeys() async throws {
        let transport = ScriptedTransport { _, _ in RecordsQuery.Answer(records: []) }
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        query.sortDescriptors = [
            NSSortDescriptor(key: "beds", ascending: false),
            NSSortDescriptor(key: "creationDate", ascending: true),
        ]
        #expect(query.sortDescriptors?.map(\.key) == ["beds", "creationDate"])
        _ = try await container(transport).privateCloudDatabase.records(matching: query)
        #expect(
            transport.requests(RecordsQuery.Request.self).first?.query.sortBy == [
                .init(.user("beds"), isAscending: false),
                .init(.system(.createdTimestamp), isAscending: true),
            ])
    }
}

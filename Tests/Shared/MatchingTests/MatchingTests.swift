import StratusMatching
import StratusRecords
import Testing

/// How values are ordered and text is split into tokens.
@Suite struct MatchingTests {
    @Test func indexKeysSortLikeTheirValues() {
        let ascending: [[FieldValue]] = [
            [.int64(.min), .int64(-1), .int64(0), .int64(1), .int64(.max)],
            [
                .double(-.infinity), .double(-1e300), .double(-1.5), .double(0),
                .double(.leastNonzeroMagnitude),
                .double(0.5), .double(1e300), .double(.infinity), .double(.nan),
            ],
            [.string(""), .string("A"), .string("a"), .string("ab"), .string("b"), .string("é")],
            [.timestamp(milliseconds: -1), .timestamp(milliseconds: 0)],
            [
                .reference(Reference(recordName: "a", zoneID: ZoneID(name: "z"))),
                .reference(Reference(recordName: "a b")), .reference(Reference(recordName: "ab")),
            ],
        ]
        for values in ascending {
            let keys = values.compactMap(IndexKey.bytes(of:))
            #expect(keys.count == values.count)
            for (one, next) in zip(keys, keys.dropFirst()) {
                #expect(one.lexicographicallyPrecedes(next))
            }
            #expect(!keys.contains { $0.lexicographicallyPrecedes(IndexKey.first) })
            #expect(keys.allSatisfy { $0.lexicographicallyPrecedes(IndexKey.last) })
        }
        #expect(IndexKey.bytes(of: .double(-0.0)) == IndexKey.bytes(of: .double(0)))
        #expect(IndexKey.bytes(of: .string("é")) == IndexKey.bytes(of: .string("e\u{301}")))
        #expect(IndexKey.double(in: IndexKey.bytes(of: -1.5)) == -1.5)
    }

    @Test(arguments: [
        ("Über den Gipfel-Weg, 7. Mai", ["7", "den", "gipfel", "mai", "uber", "weg"]),
        ("don't", ["don", "t"]),
        ("ÇA e\u{301}té été", ["ca", "ete"]),
        ("  --- ", []),
        ("山小屋 приют", ["山小屋", "приют"].sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }),
    ])
    func textIsSplitIntoTokens(_ text: String, _ words: [String]) {
        #expect(SearchTokens.tokens(of: text).map { String(decoding: $0, as: UTF8.self) } == words)
    }

    /// The device matches whole words in order; searches compare distinct, shortened words.
    @Test func wordsKeepTheirOrderAndLength() {
        let long = String(repeating: "é", count: 70)
        #expect(
            SearchTokens.words(in: "b A-b \(long)") == [
                "b", "a", "b", String(repeating: "e", count: 70),
            ])
        #expect(SearchTokens.tokens(of: "b A-b \(long)").map(\.count) == [1, 1, 64])
    }
}

import StratusRecords
import StratusWire

/// The records of the benchmark. In every zone, regardless of its size, ten records are of each rare kind.
enum Trail {
    static let type = "Trail"

    /// A record with five fields: two numbers, a time, a text and a place.
    static func record(_ number: Int, of count: Int, type: String = Self.type) -> RecordDictionary {
        let isRare = number % (count / 10) == 0
        let mixed = number &* 2_654_435_761 & 0xFFFF_FFFF
        return RecordDictionary(
            recordName: "record-\(number)", recordType: type,
            fields: .values([
                Field(name: "rank", value: .int64(isRare ? -1 : Int64(mixed % 1_000))),
                Field(name: "length", value: .double(Double(mixed) / 1_000)),
                Field(name: "opened", value: .timestamp(milliseconds: Int64(mixed))),
                Field(
                    name: "title",
                    value: .string(isRare ? "Old Gipfelweg \(number)" : "New forest road \(number)")
                ),
                Field(name: "place", value: .location(place(number, isRare: isRare, mixed: mixed))),
            ]))
    }

    private static func place(_ number: Int, isRare: Bool, mixed: Int) -> Location {
        isRare
            ? Location(latitude: 46.5, longitude: 8 + Double(number % 7) / 10_000)
            : Location(
                latitude: -60 + Double(mixed % 10_000) / 100,
                longitude: Double(mixed / 10_000 % 36_000) / 100 - 180)
    }

    /// The queries, the size of a page, and the number of records that each must return.
    static let questions: [(name: String, query: QueryDictionary, limit: Int, count: Int)] = [
        (
            "equality, 10 results",
            .init(recordType: type, filterBy: [.init(.equals, .user("rank"), .int64(-1))]), 200, 10
        ),
        (
            "range and sort, page of 20",
            .init(
                recordType: type,
                filterBy: [.init(.greaterThan, .user("length"), .double(100))],
                sortBy: [.init(.user("length"), isAscending: false)]), 20, 20
        ),
        ("all of a type, page of 20", .init(recordType: type), 20, 20),
        (
            "two words, 10 results",
            .init(
                recordType: type,
                filterBy: [.init(.containsAllTokens, .anySearchable, .string("gipfelweg old"))]),
            200, 10
        ),
        (
            "near, 10 results",
            .init(
                recordType: type,
                filterBy: [
                    .init(
                        .near, .user("place"), .location(Location(latitude: 46.5, longitude: 8)),
                        distanceMetres: 5_000)
                ]), 200, 10
        ),
        (
            "nearest first, page of 10",
            .init(
                recordType: type,
                sortBy: [
                    .init(
                        .user("place"),
                        relativeLocation: Location(latitude: 46.5, longitude: 8))
                ]), 10, 10
        ),
    ]
}

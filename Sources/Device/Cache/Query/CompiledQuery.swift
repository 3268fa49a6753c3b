import Foundation
import StratusClient
import StratusMatching
import StratusRecords
import StratusWire

/// A compiled query, which is run on rows and on single records as they change.
struct CompiledQuery: Sendable {
    /// The position of a record in the order; the zone's key distinguishes zones of the same name
    /// and different owners.
    struct Place: Hashable, Sendable {
        var place: RecordOrder.Place
        var zoneKey: Int64
    }

    let recordType: String
    let condition: QueryCondition
    let order: RecordOrder
    let zoneID: ZoneID?
    let limit: Int?
    let start: CacheCursor?
    let now: Date
    /// The condition, compiled for single records.
    let test: RecordTest

    /// Whether a record matches, regardless of where the page begins.
    ///
    /// - Parameter searchable: the fields whose words `SELF` searches; nil means all texts.
    func matches(_ record: RecordSnapshot, searchable: [String]?) -> Bool {
        guard record.type == recordType, zoneID == nil || zoneID == record.id.zoneID else {
            return false
        }
        return test.holds(for: RecordValues(record), of: record, searchable: searchable)
    }

    func place(of record: RecordSnapshot, zoneKey: Int64) -> Place {
        Place(
            place: order.place(of: RecordValues(record), in: record.id.zoneID.name),
            zoneKey: zoneKey)
    }

    func isBefore(_ one: Place, _ other: Place) -> Bool {
        if one.place == other.place { return one.zoneKey < other.zoneKey }
        return order.isBefore(one.place, other.place)
    }

    /// Whether a position belongs to the page that begins at the cursor.
    func isOnPage(_ place: Place) -> Bool {
        start.map { isBefore(Place(place: $0.place, zoneKey: $0.zoneKey), place) } ?? true
    }

    /// Whether the result can change when only the system fields of a record change.
    var readsSystem: Bool {
        order.keys.contains { $0.field.isOfSystem } || condition.readsSystem
    }
}

/// A condition with precomputed parts.
indirect enum RecordTest: Sendable {
    case all([RecordTest])
    case any([RecordTest])
    case not(RecordTest)
    case filter(RecordMatcher)
    /// A search for words in the searchable fields.
    case search(RecordMatcher.Condition)

    init(_ condition: QueryCondition, recordType: String) throws {
        switch condition {
        case .all(let members):
            self = .all(try members.map { try RecordTest($0, recordType: recordType) })
        case .any(let members):
            self = .any(try members.map { try RecordTest($0, recordType: recordType) })
        case .not(let member): self = .not(try RecordTest(member, recordType: recordType))
        case .filter(let filter):
            guard filter.isSearch else {
                self = .filter(
                    RecordMatcher(recordType: recordType, conditions: [.init(filter: filter)]))
                return
            }
            var test = RecordMatcher.Condition(filter: filter, words: filter.words)
            if filter.field == .anySearchable {
                self = .search(test)
            } else {
                if case .user(let name) = filter.field {
                    test.searchedFields = [(name, .string)]
                }
                self = .filter(RecordMatcher(recordType: recordType, conditions: [test]))
            }
        }
    }

    func holds(
        for values: RecordValues, of record: RecordSnapshot, searchable: [String]?
    ) -> Bool {
        switch self {
        case .all(let members):
            return members.allSatisfy { $0.holds(for: values, of: record, searchable: searchable) }
        case .any(let members):
            return members.contains { $0.holds(for: values, of: record, searchable: searchable) }
        case .not(let member):
            return !member.holds(for: values, of: record, searchable: searchable)
        case .filter(let matcher): return matcher.matches(values)
        case .search(var condition):
            let names =
                searchable
                ?? record.fields.filter { $0.value?.searchTokens.isEmpty == false }.map(\.name)
            condition.searchedFields = names.map { ($0, .string) }
            return RecordMatcher(recordType: record.type, conditions: [condition]).matches(values)
        }
    }
}

extension QueryDictionary.Filter {
    var isSearch: Bool {
        comparator == .containsAllTokens || comparator == .containsAnyTokens
    }

    /// The words of a search.
    var words: [[UInt8]] {
        guard case .string(let text) = value else { return [] }
        return SearchTokens.tokens(of: text)
    }
}

extension QueryDictionary.FieldName {
    fileprivate var isOfSystem: Bool {
        switch self {
        // The service does not change names, parents and types.
        case .user, .system(.recordName), .system(.parent), .system(.share): false
        case .system: true
        }
    }
}

extension QueryCondition {
    fileprivate var readsSystem: Bool {
        switch self {
        case .all(let members), .any(let members): members.contains(where: \.readsSystem)
        case .not(let member): member.readsSystem
        case .filter(let filter): filter.field.isOfSystem
        }
    }
}

import Foundation
import StratusClient
import StratusMatching
import StratusRecords
import StratusWire

/// A query of the records on this device: a type, conditions and an order.
///
/// It finds what the service would find among the same records, in the same order: texts are compared by their
/// canonical composition, letter by letter; records without a value come first if the order ascends; records that
/// compare equal are ordered by their zones and names. It supports more than the service: OR, negated compounds, all
/// zones of the shared database, encrypted fields, and fields that the service does not index. A record that the
/// service does not have yet counts as created and modified after all others.
///
/// ```swift
/// let query = CacheQuery("Note")
///     .where(NSPredicate(format: "isDone == 0 AND tags CONTAINS %@", "garden"))
///     .sorted(by: "date", ascending: false)
///     .limited(to: 20)
/// for note in try await cache.records(matching: query) { print(note["title"] ?? "") }
/// ```
public struct CacheQuery: Sendable {
    struct SortKey: Sendable {
        var key: CKRecord.FieldKey
        var isAscending: Bool
        var centre: Location?
    }

    /// The type of the records to find; a query finds records of one type only.
    public var recordType: CKRecord.RecordType
    /// The zone to search; nil means all zones of the database.
    public var zoneID: CKRecordZone.ID?
    /// The maximum number of records; nil means all.
    public var limit: Int?
    /// Where the page begins; nil means the beginning.
    public var cursor: CacheCursor?
    private(set) var conditions: [CacheCondition] = []
    private(set) var sortKeys: [SortKey] = []
    /// The error of an unsupported `NSSortDescriptor`; thrown when the query runs.
    private var sortError: CKError?

    /// Makes a query that finds all records of a type, in the order of their zones and names.
    ///
    /// - Parameters:
    ///   - recordType: the type of the records to find.
    ///   - zoneID: the zone to search; nil means all zones of the database.
    public init(_ recordType: CKRecord.RecordType, in zoneID: CKRecordZone.ID? = nil) {
        self.recordType = recordType
        self.zoneID = zoneID
    }

    /// Makes a query from a `CKQuery`.
    public init(_ query: CKQuery, in zoneID: CKRecordZone.ID? = nil) {
        self.init(query.recordType, in: zoneID)
        conditions = [CacheCondition(query.predicate)]
        do {
            sortKeys = try query.sorts(now: .distantPast).map {
                SortKey(
                    key: $0.field.key, isAscending: $0.isAscending, centre: $0.relativeLocation)
            }
        } catch {
            sortError = error as? CKError
        }
    }

    /// Adds a condition; all conditions must be true.
    public func `where`(_ condition: CacheCondition) -> CacheQuery {
        var query = self
        query.conditions.append(condition)
        return query
    }

    /// Adds the conditions of a predicate.
    public func `where`(_ predicate: NSPredicate) -> CacheQuery {
        self.where(CacheCondition(predicate))
    }

    /// Adds a sort key, after those that are there.
    public func sorted(by key: CKRecord.FieldKey, ascending: Bool = true) -> CacheQuery {
        var query = self
        query.sortKeys.append(SortKey(key: key, isAscending: ascending))
        return query
    }

    /// Adds a sort key, after those that are there.
    public func sorted<Value>(
        by field: RecordField<Value>, ascending: Bool = true
    ) -> CacheQuery {
        sorted(by: field.key, ascending: ascending)
    }

    /// Adds the distance of a place as a sort key, the nearest first; records without a place come last.
    public func sorted(byDistanceOf key: CKRecord.FieldKey, from place: CLLocation) -> CacheQuery {
        var query = self
        if case .location(let centre) = FieldValue(compared: place) {
            query.sortKeys.append(SortKey(key: key, isAscending: true, centre: centre))
        }
        return query
    }

    /// Sets the maximum number of records, in place of an earlier one; a negative number counts as 0.
    public func limited(to limit: Int) -> CacheQuery {
        var query = self
        query.limit = limit
        return query
    }

    /// The records after those of a page; see ``CachePage/cursor``.
    public func after(_ cursor: CacheCursor?) -> CacheQuery {
        var query = self
        query.cursor = cursor
        return query
    }

    /// - Throws: `CKError.invalidArguments` that names the unsupported part.
    func compiled(now: Date) throws -> CompiledQuery {
        if let sortError { throw sortError }
        let now = cursor?.now ?? now
        let keys = try sortKeys.map { sort in
            RecordOrder.Key(
                field: try .init(key: sort.key), type: .string, isAscending: sort.isAscending,
                centre: sort.centre)
        }
        if let cursor, cursor.place.keys.count != keys.count {
            throw CKError(
                .invalidArguments,
                "The cursor belongs to another query. Use it with the query that returned it.")
        }
        let condition = QueryCondition.all(try conditions.map { try $0.resolved(now: now) })
        return CompiledQuery(
            recordType: recordType, condition: condition, order: RecordOrder(keys: keys),
            zoneID: zoneID.map { ZoneID($0) }, limit: limit.map { max(0, $0) }, start: cursor,
            now: now, test: try RecordTest(condition, recordType: recordType))
    }
}

/// The end of a query's page. The next page begins after it, even if records were added or removed meanwhile.
public struct CacheCursor: Hashable, Sendable {
    let place: RecordOrder.Place
    let zoneKey: Int64
    /// The value of `now()` on all pages.
    let now: Date
}

/// A page of a query's records.
public struct CachePage: Sendable {
    /// The records of this page, in the order of the query.
    public var records: [CKRecord]
    /// Where the next page begins; nil when there is none.
    public var cursor: CacheCursor?
}

extension QueryDictionary.FieldName {
    /// The name that an app uses for the field.
    fileprivate var key: CKRecord.FieldKey {
        switch self {
        case .user(let name): name
        case .system(.recordName): "recordID"
        case .system(.share): CKRecord.SystemFieldKey.share
        case .system(.parent): CKRecord.SystemFieldKey.parent
        case .system(.createdUserRecordName): "creatorUserRecordID"
        case .system(.createdTimestamp): "creationDate"
        case .system(.modifiedTimestamp): "modificationDate"
        case .system(.modifiedUserRecordName): "lastModifiedUserRecordID"
        }
    }
}

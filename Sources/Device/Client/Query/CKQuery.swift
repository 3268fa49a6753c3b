import Foundation

/// A search for records of a type that match a predicate, with a sort order.
///
/// ```swift
/// let query = CKQuery(
///     recordType: "Trail", predicate: NSPredicate(format: "region == %@ AND metres < 10000", "Alps"))
/// query.sortDescriptors = [NSSortDescriptor(key: "metres", ascending: true)]
/// let (matches, cursor) = try await database.records(matching: query)
/// for (id, result) in matches { show(id, result) }
/// ```
///
/// `@unchecked Sendable`: the predicate is never changed; the sort descriptors are set before the
/// query is used.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The type of the records to find. `CKRecord.SystemType.userRecord` cannot be queried.
    public let recordType: CKRecord.RecordType
    /// Held by reference: on Linux, copying a compound predicate loses its parts.
    public let predicate: NSPredicate
    /// The order of the matches, by sortable fields; nil leaves the order to the service.
    ///
    /// A query with a descriptor that was made with a key path, which names no field, fails with
    /// `CKError.invalidArguments`.
    public var sortDescriptors: [NSSortDescriptor]?

    /// - Parameter predicate: made from a format string, a compound of such predicates, or
    ///   `NSPredicate(value:)`. A predicate that the service cannot answer fails when the query
    ///   runs.
    /// - Parameter recordType: the type of the records to find.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
    }

    convenience init(_ definition: QueryDefinition) {
        self.init(
            recordType: definition.recordType,
            predicate: FormatPredicate(definition.predicate))
        if !definition.sortKeys.isEmpty {
            sortDescriptors = definition.sortKeys.map { sort in
                sort.relativeLocation.map {
                    CKLocationSortDescriptor(key: sort.key ?? "", relativeLocation: $0)
                } ?? NSSortDescriptor(key: sort.key, ascending: sort.isAscending)
            }
        }
    }

    var definition: QueryDefinition {
        QueryDefinition(
            recordType: recordType, predicate: predicate.expression,
            sortKeys: (sortDescriptors ?? []).map(QueryDefinition.SortKey.init))
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    public override var description: String { "<CKQuery: \(recordType)>" }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        definition.encode(with: coder)
    }

    public convenience init?(coder: NSCoder) {
        guard let definition = QueryDefinition(coder: coder) else { return nil }
        self.init(definition)
    }
}

/// A query as plain values.
struct QueryDefinition: Sendable {
    struct SortKey: Sendable {
        /// The name of the field; nil for a descriptor without one.
        var key: String?
        var isAscending: Bool
        var relativeLocation: CLLocation?

        init(key: String?, isAscending: Bool, relativeLocation: CLLocation? = nil) {
            self.key = key
            self.isAscending = isAscending
            self.relativeLocation = relativeLocation
        }

        init(_ descriptor: NSSortDescriptor) {
            self.init(
                key: descriptor.key, isAscending: descriptor.ascending,
                relativeLocation: (descriptor as? CKLocationSortDescriptor)?.relativeLocation)
        }
    }

    var recordType: String
    var predicate: PredicateExpression
    var sortKeys: [SortKey] = []

    init(recordType: String, predicate: PredicateExpression, sortKeys: [SortKey] = []) {
        self.recordType = recordType
        self.predicate = predicate
        self.sortKeys = sortKeys
    }

    func encode(with coder: NSCoder) {
        coder.archive(recordType, "recordType")
        coder.archive(tree: predicate.archived, "predicate")
        coder.archive(sortKeys.map { $0.key ?? "" }, "sortKeys")
        coder.archive(sortKeys.map { $0.isAscending ? "ascending" : "descending" }, "sortOrders")
        for (index, sortKey) in sortKeys.enumerated() {
            coder.archive(sortKey.relativeLocation, "sortPlace\(index)")
        }
    }

    init?(coder: NSCoder) {
        guard let recordType = coder.archivedString("recordType"),
            let tree = coder.archivedTree("predicate"),
            let predicate = PredicateExpression(archived: tree),
            let keys = coder.archivedStrings("sortKeys"),
            let orders = coder.archivedStrings("sortOrders"), keys.count == orders.count
        else { return nil }
        self.recordType = recordType
        self.predicate = predicate
        sortKeys = zip(keys, orders).enumerated().map { index, key in
            SortKey(
                key: key.0.isEmpty ? nil : key.0, isAscending: key.1 == "ascending",
                relativeLocation: coder.archivedObject(CLLocation.self, "sortPlace\(index)"))
        }
    }
}

/// A query with its zone and the position of the next page.
struct QuerySearch: Sendable {
    var query: QueryDefinition
    /// The zone to search; nil searches all zones of the database.
    var zoneID: CKRecordZone.ID?
    /// The continuation marker; nil starts from the beginning.
    var marker: String?
    /// The value of `now()` on all pages, because a marker is valid only for the same query; nil
    /// before the first page.
    var now: Date?
}

/// The position after a page of a query. `CKQueryOperation.Cursor` in code. Opaque; can be
/// archived.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
    let search: QuerySearch

    init(_ search: QuerySearch) {
        self.search = search
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        search.query.encode(with: coder)
        coder.archive(search.zoneID, "zoneID")
        coder.archive(search.marker, "marker")
        coder.archive(search.now, "now")
    }

    public init?(coder: NSCoder) {
        guard let query = QueryDefinition(coder: coder),
            let marker = coder.archivedString("marker")
        else { return nil }
        search = QuerySearch(
            query: query, zoneID: coder.archivedObject(CKRecordZoneID.self, "zoneID"),
            marker: marker, now: coder.archivedDate("now"))
    }
}

import StratusRecords

/// `changes/zone`: what changed in zones since their tokens.
///
/// ```swift
/// let request = ChangesZone.Request(zones: [.init(zoneID: ZoneIDDictionary(zoneName: "Trips"))])
/// let answer = try readWire(ChangesZone.Answer.self, from: body)
/// ```
public enum ChangesZone: Endpoint {
    public static let path = "changes/zone"

    public struct Request: WireValue {
        /// The zones to fetch changes of, each one once; at most `Limits.operationsPerRequest`.
        public var zones: [Item]

        /// Makes a request for a page of changes of each zone.
        public init(zones: [Item]) {
            self.zones = zones
        }
    }

    /// One zone of the request. Defaults at the top of the body are filled in when the request is read.
    public struct Item: WireWritable, Hashable, Sendable {
        /// The zone; the default zone of a private database has no change feed.
        public var zoneID: ZoneIDDictionary
        /// Nil starts from the beginning.
        public var syncToken: String?
        /// The most records in a page; nil, 0 and less are `Limits.recordsPerPage`. With `stratusExtensions=1` a page
        /// ends where a request ended, and may be longer for that.
        public var resultsLimit: Int?
        /// The names of the fields to return; nil for all of them, empty for none.
        public var desiredKeys: [String]?
        /// The record types to return; nil for all of them. Others, also their tombstones, are left out of the page.
        public var desiredRecordTypes: [String]?
        /// Newest first.
        public var isReversed: Bool
        /// Whether INT64, DOUBLE and TIMESTAMP values, and lists of them, are strings in the answer.
        public var numbersAsStrings: Bool
        /// Change tags of saves that the service acknowledged and the token does not cover, the newest of each epoch.
        /// When the service has lost one of them, it answers that the token has expired. An extension.
        public var knownChangeTags: [String]
        /// For a fetch from the beginning: the version of the zone after which deletions are listed; set it for each of
        /// the pages. Without it, only deletions of this device's own records from before the fetch are listed. An
        /// extension.
        public var deletionsAfterVersion: Int64?

        /// The most known change tags that are read.
        public static let knownChangeTagLimit = 16

        /// Whether the answer's fields are read as a device keeps them, ``RecordFields/kept(_:)``. Not sent.
        package var keepsFields = false

        /// Makes the request for one zone.
        public init(
            zoneID: ZoneIDDictionary, syncToken: String? = nil, resultsLimit: Int? = nil,
            desiredKeys: [String]? = nil, desiredRecordTypes: [String]? = nil,
            isReversed: Bool = false, numbersAsStrings: Bool = false,
            knownChangeTags: [String] = [], deletionsAfterVersion: Int64? = nil
        ) {
            self.zoneID = zoneID
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
            self.desiredRecordTypes = desiredRecordTypes
            self.isReversed = isReversed
            self.numbersAsStrings = numbersAsStrings
            self.knownChangeTags = knownChangeTags
            self.deletionsAfterVersion = deletionsAfterVersion
        }
    }

    public typealias Answer = ListBody<Result>

    /// The page of one zone, or why there is none.
    public typealias Result = Swift.Result<Page, ZoneFailure>

    /// A page of a zone's changes, oldest first; each record once, with its newest state.
    public struct Page: WireObject, Hashable, Sendable {
        /// The zone with its owner and type.
        public var zoneID: ZoneIDDictionary = ZoneIDDictionary()
        /// The changed records, and tombstones of the deleted ones.
        public var records: [RecordResult] = []
        /// The change token at the end of the page, for the next request.
        public var syncToken = ""
        /// Whether more changes follow this page.
        public var moreComing = false
        /// The most changes that are still to come: it counts those that later changes replaced. Nil on the last page.
        /// An extension.
        public var remainingChanges: Int64?

        /// Makes a page; ``remainingChanges`` is nil.
        public init(
            zoneID: ZoneIDDictionary, records: [RecordResult], syncToken: String, moreComing: Bool
        ) {
            self.zoneID = zoneID
            self.records = records
            self.syncToken = syncToken
            self.moreComing = moreComing
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("zoneID", &zoneID)
            try coder.required("records", &records)
            try coder.required("syncToken", &syncToken)
            try coder.defaulted("moreComing", &moreComing)
            try coder.optional("remainingChanges", &remainingChanges)
        }
    }
}

extension ChangesZone.Request {
    /// Reads the zones; the members at the top of the body are the default for each zone.
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        let defaults = try ChangesZone.Item(wire: node, zoneID: ZoneIDDictionary(), defaults: nil)
        guard let zones = node["zones"], zones.isArray else {
            throw WireError("An array is required.", at: "zones")
        }
        var items: [ChangesZone.Item] = []
        items.reserveCapacity(zones.count)
        for zone in zones.elements {
            do {
                let zoneID: ZoneIDDictionary = try zone.required("zoneID")
                items.append(try ChangesZone.Item(wire: zone, zoneID: zoneID, defaults: defaults))
            } catch {
                throw error.within(index: items.count).within("zones")
            }
        }
        self.init(zones: items)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("zones", zones) }
    }
}

extension ChangesZone.Item {
    fileprivate init(
        wire node: JSONNode, zoneID: ZoneIDDictionary, defaults: ChangesZone.Item?
    ) throws(WireError) {
        self.init(
            zoneID: zoneID,
            // A token belongs to one zone and is never a default.
            syncToken: defaults == nil ? nil : try node.optional("syncToken"),
            resultsLimit: try node.optional("resultsLimit") ?? defaults?.resultsLimit,
            desiredKeys: try node.optional("desiredKeys") ?? defaults?.desiredKeys,
            desiredRecordTypes: try node.optional("desiredRecordTypes")
                ?? defaults?.desiredRecordTypes,
            isReversed: try node.optional("reverse") ?? defaults?.isReversed ?? false,
            numbersAsStrings: try node.numbersAsStrings() ?? defaults?.numbersAsStrings ?? false,
            knownChangeTags: try defaults == nil ? [] : node.optional("knownChangeTags") ?? [],
            deletionsAfterVersion: defaults == nil
                ? nil : try node.optional("deletionsAfterVersion"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.optional("syncToken", syncToken)
            writer.optional("resultsLimit", resultsLimit)
            writer.optional("desiredKeys", desiredKeys)
            writer.optional("desiredRecordTypes", desiredRecordTypes)
            writer.flag("reverse", isReversed)
            writer.flag("numbersAsStrings", numbersAsStrings)
            writer.optional("knownChangeTags", knownChangeTags.isEmpty ? nil : knownChangeTags)
            writer.optional("deletionsAfterVersion", deletionsAfterVersion)
        }
    }
}

extension ChangesZone.Page: ListItem {
    public static var listKey: StaticString { "zones" }
}

import StratusRecords

/// `assets/rereference`: makes the assets of saved records attachable to others, without an upload.
public enum AssetsRereference: Endpoint {
    public static let path = "assets/rereference"

    public struct Request: WireObject, Hashable, Sendable {
        /// The zone of the records that hold the assets; nil is the default zone.
        public var zoneID: ZoneIDDictionary?
        /// The zone of the records that they will be saved in; nil is ``zoneID``.
        public var targetZoneID: ZoneIDDictionary?
        /// The fields whose assets are to be saved elsewhere; at most `Limits.assetTokensPerRequest`.
        public var assets: [Item] = []

        /// Makes a request about assets of records in one zone.
        public init(
            assets: [Item], zoneID: ZoneIDDictionary? = nil, targetZoneID: ZoneIDDictionary? = nil
        ) {
            self.assets = assets
            self.zoneID = zoneID
            self.targetZoneID = targetZoneID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("zoneID", &zoneID)
            try coder.optional("targetZoneID", &targetZoneID)
            try coder.required("assets", &assets)
        }
    }

    public typealias Answer = ListBody<AssetResult>

    /// An asset with a new receipt, or why there is none.
    public typealias AssetResult = Result<AssetReceipt, AssetFailure>

    /// A field that holds an asset.
    public struct Item: WireObject, Hashable, Sendable {
        /// The name of the saved record that holds the asset.
        public var recordName = ""
        /// The field that holds the asset; a list of assets is refused.
        public var fieldName = ""

        /// Names a field of a record in the request's zone.
        public init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("recordName", &recordName)
            try coder.required("fieldName", &fieldName)
        }
    }
}

extension AssetReceipt: ListItem {
    public static var listKey: StaticString { "assets" }
}

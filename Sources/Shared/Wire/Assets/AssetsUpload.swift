import StratusRecords

/// `assets/upload`: asks for addresses to which the bytes of assets may be sent.
///
/// Step 2 is a POST of the bytes to the address; it answers ``Uploaded``, whose asset is the value to
/// save in step 3.
public enum AssetsUpload: Endpoint {
    public static let path = "assets/upload"

    public struct Request: WireObject, Hashable, Sendable {
        /// The zone of the records that the assets will be saved in; nil is the default zone.
        public var zoneID: ZoneIDDictionary?
        /// One per asset.
        public var tokens: [Item] = []

        /// Makes a request for one address per item.
        public init(tokens: [Item], zoneID: ZoneIDDictionary? = nil) {
            self.tokens = tokens
            self.zoneID = zoneID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("zoneID", &zoneID)
            try coder.required("tokens", &tokens)
        }
    }

    public typealias Answer = ListBody<TokenResult>

    /// Where an asset will be saved.
    public struct Item: WireObject, Hashable, Sendable {
        /// Nil asks the service for a name; the record must then be created under that.
        public var recordName: String?
        /// The type of the record that will hold the asset. This service ignores it.
        public var recordType: String?
        /// The field that will hold the asset; must be a valid field name.
        public var fieldName = ""

        /// Describes an asset to upload.
        public init(recordName: String? = nil, recordType: String? = nil, fieldName: String) {
            self.recordName = recordName
            self.recordType = recordType
            self.fieldName = fieldName
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("recordName", &recordName)
            try coder.optional("recordType", &recordType)
            try coder.required("fieldName", &fieldName)
        }
    }

    /// The address for one asset, or why there is none.
    public typealias TokenResult = Result<Token, AssetFailure>

    /// The address to which the bytes of one asset are sent, and the record and field that it is for.
    public struct Token: WireObject, Hashable, Sendable {
        /// The name under which the record must be saved: the item's own, or a UUID that the service made.
        public var recordName = ""
        /// The item's field, as it was sent.
        public var fieldName = ""
        /// The address for the asset's bytes, by POST or in parts by PATCH, in any number of attempts; valid for
        /// `Limits.uploadAddressSeconds`, by default 15 minutes.
        public var url = ""

        /// Makes the answer for one item.
        public init(recordName: String, fieldName: String, url: String) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("recordName", &recordName)
            try coder.required("fieldName", &fieldName)
            try coder.required("url", &url)
        }
    }

    /// The answer to the POST of an asset's bytes.
    public struct Uploaded: WireObject, Hashable, Sendable {
        /// The value to save in the record's field. Its receipt is valid for `Limits.assetReceiptSeconds`.
        public var singleFile: AssetReceipt = AssetReceipt()

        /// Makes the answer with the value that the client saves.
        public init(singleFile: AssetReceipt) {
            self.singleFile = singleFile
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("singleFile", &singleFile)
        }
    }
}

/// Why one asset of a request could not be served.
public struct AssetFailure: Error, WireObject, Hashable, Sendable {
    /// The record name in the request's item; nil if the item has none.
    public var recordName: String?
    /// The field name in the request's item; nil if the answer does not have it.
    public var fieldName: String?
    /// What is wrong with this item. The other items of the request are answered.
    public var error = ServiceError.unread

    /// Makes the failure of one item, named as in the request.
    public init(recordName: String?, fieldName: String?, error: ServiceError) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.error = error
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("recordName", &recordName)
        try coder.optional("fieldName", &fieldName)
        try coder.error(&error)
    }
}

extension AssetsUpload.Token: ListItem {
    public static var listKey: StaticString { "tokens" }
}

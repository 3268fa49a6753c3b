import StratusRecords

/// `assets/upload`: asks for addresses to which the bytes of assets may be sent.
///
/// Step 2 is a POST of the bytes to the address; it answers ``Uploaded``, whose asset is the value to
/// save in step 3.
public enum AssetsUpload: Endpoint {
    public static let path = "assets/upload"

    public struct Request: WireValue {
        /// One per asset.
        public var tokens: [Item]
        /// The zone of the records that the assets will be saved in; nil is the default zone.
        public var zoneID: ZoneIDDictionary?

        public init(tokens: [Item], zoneID: ZoneIDDictionary? = nil) {
            self.tokens = tokens
            self.zoneID = zoneID
        }
    }

    /// Where an asset will be saved.
    public struct Item: WireValue {
        /// Nil asks the service for a name; the record must then be created under that.
        public var recordName: String?
        public var recordType: String?
        public var fieldName: String

        public init(recordName: String? = nil, recordType: String? = nil, fieldName: String) {
            self.recordName = recordName
            self.recordType = recordType
            self.fieldName = fieldName
        }
    }

    public struct Answer: WireValue {
        /// One per item, in the request's order.
        public var tokens: [TokenResult]

        public init(tokens: [TokenResult]) {
            self.tokens = tokens
        }
    }

    /// The address for one asset, or why there is none.
    public enum TokenResult: WireValue {
        case token(Token)
        case failure(AssetFailure)
    }

    public struct Token: WireValue {
        public var recordName: String
        public var fieldName: String
        /// Takes one POST of the asset's bytes, for 15 minutes.
        public var url: String

        public init(recordName: String, fieldName: String, url: String) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
        }
    }

    /// The answer to the POST of an asset's bytes.
    public struct Uploaded: WireValue {
        public var singleFile: AssetReceipt

        public init(singleFile: AssetReceipt) {
            self.singleFile = singleFile
        }
    }
}

/// Why one asset of a request could not be served.
public struct AssetFailure: WireValue {
    public var recordName: String?
    public var fieldName: String?
    public var error: ServiceError

    public init(recordName: String?, fieldName: String?, error: ServiceError) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.error = error
    }
}

extension AssetsUpload.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            tokens: try node.required("tokens"),
            zoneID: try node.optional("zoneID"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("zoneID", zoneID)
            writer.member("tokens", tokens)
        }
    }
}

extension AssetsUpload.Item {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            recordName: try node.optional("recordName"),
            recordType: try node.optional("recordType"),
            fieldName: try node.required("fieldName"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("recordName", recordName)
            writer.optional("recordType", recordType)
            writer.member("fieldName", fieldName)
        }
    }
}

extension AssetsUpload.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(tokens: try node.required("tokens"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("tokens", tokens) }
    }
}

extension AssetsUpload.TokenResult {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(try AssetFailure(wire: node)) : .token(try AssetsUpload.Token(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .token(let token): token.write(to: &writer)
        case .failure(let failure): failure.write(to: &writer)
        }
    }
}

extension AssetsUpload.Token {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            recordName: try node.required("recordName"),
            fieldName: try node.required("fieldName"),
            url: try node.required("url"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("fieldName", fieldName)
            writer.member("url", url)
        }
    }
}

extension AssetsUpload.Uploaded {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(singleFile: try node.required("singleFile"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("singleFile", singleFile) }
    }
}

extension AssetFailure {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            recordName: try node.optional("recordName"),
            fieldName: try node.optional("fieldName"),
            error: try ServiceError(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("recordName", recordName)
            writer.optional("fieldName", fieldName)
            error.writeMembers(to: &writer)
        }
    }
}

import StratusRecords

/// `assets/rereference`: makes the assets of saved records attachable to others, without an upload.
public enum AssetsRereference: Endpoint {
    public static let path = "assets/rereference"

    public struct Request: WireValue {
        public var assets: [Item]
        /// The zone of the records that hold the assets; nil is the default zone.
        public var zoneID: ZoneIDDictionary?
        /// The zone of the records that they will be saved in; nil is ``zoneID``.
        public var targetZoneID: ZoneIDDictionary?

        public init(
            assets: [Item], zoneID: ZoneIDDictionary? = nil, targetZoneID: ZoneIDDictionary? = nil
        ) {
            self.assets = assets
            self.zoneID = zoneID
            self.targetZoneID = targetZoneID
        }
    }

    /// A field that holds an asset.
    public struct Item: WireValue {
        public var recordName: String
        public var fieldName: String

        public init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    public struct Answer: WireValue {
        /// One per item, in the request's order.
        public var assets: [AssetResult]

        public init(assets: [AssetResult]) {
            self.assets = assets
        }
    }

    /// An asset with a new receipt, or why there is none.
    public enum AssetResult: WireValue {
        case asset(AssetReceipt)
        case failure(AssetFailure)
    }
}

extension AssetsRereference.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            assets: try node.required("assets"),
            zoneID: try node.optional("zoneID"),
            targetZoneID: try node.optional("targetZoneID"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("zoneID", zoneID)
            writer.optional("targetZoneID", targetZoneID)
            writer.member("assets", assets)
        }
    }
}

extension AssetsRereference.Item {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            recordName: try node.required("recordName"),
            fieldName: try node.required("fieldName"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("fieldName", fieldName)
        }
    }
}

extension AssetsRereference.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(assets: try node.required("assets"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("assets", assets) }
    }
}

extension AssetsRereference.AssetResult {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(try AssetFailure(wire: node)) : .asset(try AssetReceipt(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .asset(let asset): asset.write(to: &writer)
        case .failure(let failure): failure.write(to: &writer)
        }
    }
}

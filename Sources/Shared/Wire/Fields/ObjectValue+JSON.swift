import StratusRecords

extension Location: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        guard node.isObject,
            let latitude: Double = try node.optional("latitude"),
            let longitude: Double = try node.optional("longitude")
        else { throw FieldType.location.mismatch }
        self.init(
            latitude: latitude, longitude: longitude,
            horizontalAccuracy: try node.optional("horizontalAccuracy"),
            verticalAccuracy: try node.optional("verticalAccuracy"),
            altitude: try node.optional("altitude"),
            speed: try node.optional("speed"),
            course: try node.optional("course"),
            timestampMilliseconds: try node.optional("timestamp"))
        if let seconds = node["exactTimestamp"]?.number,
            ExactDate.milliseconds(of: seconds) == timestampMilliseconds
        {
            timestampExactSeconds = seconds
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("latitude", latitude)
            writer.member("longitude", longitude)
            writer.optional("horizontalAccuracy", horizontalAccuracy)
            writer.optional("verticalAccuracy", verticalAccuracy)
            writer.optional("altitude", altitude)
            writer.optional("speed", speed)
            writer.optional("course", course)
            writer.optional("timestamp", timestampMilliseconds)
            writer.optional("exactTimestamp", timestampExactSeconds)
        }
    }
}

extension Reference: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        guard node.isObject, let recordName: String = try node.optional("recordName") else {
            throw FieldType.reference.mismatch
        }
        let zoneID: ZoneIDDictionary? = try node.optional("zoneID")
        self.init(
            recordName: recordName,
            zoneID: zoneID.map {
                ZoneID(name: $0.zoneName, ownerName: $0.ownerRecordName ?? ZoneID.currentUserName)
            },
            // Filters and some clients leave it out.
            action: try Self.action(node))
    }

    /// Compares the bytes, which is faster than making a string: there are many references.
    private static func action(_ node: JSONNode) throws(WireError) -> Action {
        guard let action = node["action"], !action.isNull else { return .none }
        switch action.stringText {
        case .some("NONE"): return .none
        case .some("DELETE_SELF"): return .deleteSelf
        case .some("VALIDATE"): return .validate
        default:
            throw WireError(
                "The protocol does not know this word; Documentation/Wire.md lists those of each key.",
                at: "action")
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            if let zoneID {
                writer.key("zoneID")
                writer.object { writer in
                    writer.member("zoneName", zoneID.name)
                    if zoneID.ownerName != ZoneID.currentUserName {
                        writer.member("ownerRecordName", zoneID.ownerName)
                    }
                    writer.key("zoneType")
                    writer.word(zoneID.isDefault ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
                }
            }
            writer.key("action")
            switch action {
            case .none: writer.word("NONE")
            case .deleteSelf: writer.word("DELETE_SELF")
            case .validate: writer.word("VALIDATE")
            }
        }
    }
}

extension AssetReceipt: WireObject {
    public init() { self.init(receipt: nil) }

    public init(wire node: JSONNode) throws(WireError) {
        guard node.isObject else { throw FieldType.asset.mismatch }
        try self.init(membersOf: node)
    }

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("fileChecksum", &fileChecksum)
        try coder.optional("size", &sizeBytes)
        try coder.optional("referenceChecksum", &referenceChecksum)
        try coder.optional("wrappingKey", &wrappingKey)
        try coder.optional("receipt", &receipt)
        // After the receipt, where `StoredAssets` expects it.
        try coder.optional("fileName", &fileName)
        try coder.optional("downloadURL", &downloadURL)
    }
}

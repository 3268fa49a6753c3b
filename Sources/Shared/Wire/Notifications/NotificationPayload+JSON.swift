import StratusRecords

extension NotificationPayload: WireReadable, WireWritable {
    /// Reads the body of a long poll's answer; nil when there is no notification.
    public static func read(
        from bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> NotificationPayload? {
        try readWire(Maybe.self, from: bytes).payload
    }

    /// Writes the body of a long poll's answer; `{}` when there is no notification.
    public static func wireBytes(of payload: NotificationPayload?) -> [UInt8] {
        payload.map { StratusWire.wireBytes(of: $0) } ?? Array("{}".utf8)
    }

    private struct Maybe: WireReadable {
        var payload: NotificationPayload?

        init(wire node: JSONNode) throws(WireError) {
            payload = node["ck"] == nil ? nil : try NotificationPayload(wire: node)
        }
    }

    public init(wire node: JSONNode) throws(WireError) {
        guard let ck = node["ck"], ck.isObject else {
            throw WireError("This key is required.", at: "ck")
        }
        do {
            self = try Self.read(ck, info: try Self.notificationInfo(node["aps"]))
        } catch {
            throw error.within("ck")
        }
    }

    private static func read(
        _ ck: JSONNode, info: SubscriptionDictionary.NotificationInfo?
    ) throws(WireError) -> NotificationPayload {
        let cause: Cause
        let origin: JSONNode
        // CloudKit JS looks for `fet` before `qry`.
        if let zone = ck["fet"] {
            origin = zone
            cause = .zone(try zoneID(zone))
        } else if let query = ck["qry"] {
            origin = query
            cause = .query(
                recordName: try query.optional("rid"), reason: try reason(query),
                zoneID: try zoneID(query), additionalFields: try additionalFields(query["af"]))
        } else if let database = ck["met"] {
            origin = database
            cause = .database
        } else {
            throw WireError("One of the keys qry, fet and met is required.")
        }
        return NotificationPayload(
            containerIdentifier: try ck.optional("cid"),
            notificationID: try ck.required("nid"),
            userRecordName: try ck.optional("ckuserid") ?? "",
            subscriptionID: try origin.required("sid"),
            scope: try scope(origin),
            cause: cause,
            notificationInfo: info,
            isPruned: ck["p"].map { !$0.isNull } ?? false)
    }

    private static func zoneID(_ node: JSONNode) throws(WireError) -> ZoneID? {
        guard let name: String = try node.optional("zid") else { return nil }
        return ZoneID(
            name: name, ownerName: try node.optional("zoid") ?? ZoneID.currentUserName)
    }

    private static func reason(_ node: JSONNode) throws(WireError) -> Reason? {
        guard let number: Int = try node.optional("fo") else { return nil }
        guard let reason = Reason(rawValue: number) else {
            throw WireError("The protocol does not know this reason.", at: "fo")
        }
        return reason
    }

    private static func scope(_ node: JSONNode) throws(WireError) -> DatabaseScope {
        guard let scope = DatabaseScope(rawValue: try node.required("dbs")) else {
            throw WireError("The protocol does not know this database.", at: "dbs")
        }
        return scope
    }

    /// Reads raw values, whose types are guessed.
    private static func additionalFields(_ node: JSONNode?) throws(WireError) -> [Field] {
        guard let node else { return [] }
        var fields: [Field] = []
        for (key, member) in node.members {
            let value = member.isNull ? nil : try FieldValue(inferring: member)
            fields.append(Field(name: key.string, value: value, isTypeDeclared: false))
        }
        return fields
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            // Always written: clients in JavaScript read it without a check, and APNs requires it.
            writer.key("aps")
            (notificationInfo ?? .init()).writePush(to: &writer)
            writer.key("ck")
            writer.object { writer in
                // Seen on the live service; its meaning is not known.
                writer.member("ce", 2)
                writer.optional("cid", containerIdentifier)
                writer.member("nid", notificationID)
                writer.member("ckuserid", userRecordName)
                if isPruned { writer.member("p", 1) }
                writeCause(to: &writer)
            }
        }
    }

    private func writeCause(to writer: inout JSONWriter) {
        switch cause {
        case .query: writer.key("qry")
        case .zone: writer.key("fet")
        case .database: writer.key("met")
        }
        writer.object { writer in
            writer.member("sid", subscriptionID)
            writer.member("dbs", scope.rawValue)
            switch cause {
            case .query(let recordName, let reason, let zoneID, let fields):
                writer.optional("rid", recordName)
                if let reason { writer.member("fo", reason.rawValue) }
                writer.zone(zoneID)
                guard !fields.isEmpty else { break }
                writer.key("af")
                writer.object { writer in
                    for field in fields {
                        writer.key(field.name)
                        if let value = field.value {
                            value.writeRaw(to: &writer)
                        } else {
                            writer.null()
                        }
                    }
                }
            case .zone(let zoneID): writer.zone(zoneID)
            case .database: break
            }
        }
    }

    /// Reads from `aps` how to alert the person; nil when it is absent.
    private static func notificationInfo(
        _ aps: JSONNode?
    ) throws(WireError) -> SubscriptionDictionary.NotificationInfo? {
        guard let aps, aps.isObject, aps.members.contains(where: { _ in true }) else { return nil }
        var info = SubscriptionDictionary.NotificationInfo()
        if let alert = aps["alert"], alert.isObject {
            info.alertBody = try alert.optional("body")
            info.alertLocalizationKey = try alert.optional("loc-key")
            info.alertLocalizationArgs = try alert.optional("loc-args") ?? []
            info.title = try alert.optional("title")
            info.titleLocalizationKey = try alert.optional("title-loc-key")
            info.titleLocalizationArgs = try alert.optional("title-loc-args") ?? []
            info.subtitle = try alert.optional("subtitle")
            info.subtitleLocalizationKey = try alert.optional("subtitle-loc-key")
            info.subtitleLocalizationArgs = try alert.optional("subtitle-loc-args") ?? []
            info.alertActionLocalizationKey = try alert.optional("action-loc-key")
            info.alertLaunchImage = try alert.optional("launch-image")
        } else {
            info.alertBody = try aps.optional("alert")
        }
        info.soundName = try aps.optional("sound")
        info.category = try aps.optional("category")
        info.shouldBadge = aps["badge"]?.int64 != nil
        info.shouldSendContentAvailable = try aps.optional("content-available") ?? false
        info.shouldSendMutableContent = try aps.optional("mutable-content") ?? false
        return info
    }
}

extension JSONWriter {
    fileprivate mutating func zone(_ zoneID: ZoneID?) {
        guard let zoneID else { return }
        member("zid", zoneID.name)
        if zoneID.ownerName != ZoneID.currentUserName { member("zoid", zoneID.ownerName) }
    }
}

extension SubscriptionDictionary.NotificationInfo {
    /// Writes the object under `aps`.
    fileprivate func writePush(to writer: inout JSONWriter) {
        writer.object { writer in
            if hasAlert {
                writer.key("alert")
                writer.object { writeAlert(to: &$0) }
            }
            if shouldBadge { writer.member("badge", 1) }
            writer.optional("sound", soundName)
            writer.optional("category", category)
            if shouldSendContentAvailable { writer.member("content-available", 1) }
            if shouldSendMutableContent { writer.member("mutable-content", 1) }
        }
    }

    /// Whether there is something to show as an alert.
    public var hasAlert: Bool {
        alertBody != nil || alertLocalizationKey != nil || title != nil
            || titleLocalizationKey != nil || subtitle != nil || subtitleLocalizationKey != nil
            || alertActionLocalizationKey != nil || alertLaunchImage != nil
    }

    private func writeAlert(to writer: inout JSONWriter) {
        writer.optional("body", alertBody)
        writer.optional("loc-key", alertLocalizationKey)
        writer.nonempty("loc-args", alertLocalizationArgs)
        writer.optional("title", title)
        writer.optional("title-loc-key", titleLocalizationKey)
        writer.nonempty("title-loc-args", titleLocalizationArgs)
        writer.optional("subtitle", subtitle)
        writer.optional("subtitle-loc-key", subtitleLocalizationKey)
        writer.nonempty("subtitle-loc-args", subtitleLocalizationArgs)
        writer.optional("action-loc-key", alertActionLocalizationKey)
        writer.optional("launch-image", alertLaunchImage)
    }
}

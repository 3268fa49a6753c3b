import StratusRecords

extension SubscriptionDictionary: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            subscriptionID: try node.optional("subscriptionID"),
            kind: try node.optional("subscriptionType"),
            zoneID: try node.optional("zoneID"),
            query: try node.optional("query"),
            firesOn: try node.optional("firesOn") ?? [],
            firesOnce: try node.optional("firesOnce") ?? false,
            isZoneWide: try node.optional("zoneWide"),
            recordType: try node.optional("recordType"),
            notificationInfo: try node.optional("notificationInfo"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("subscriptionID", subscriptionID)
            // A deletion only needs the identifier.
            guard let kind else { return }
            writer.member("subscriptionType", kind)
            writer.optional("zoneID", zoneID)
            writer.optional("query", query)
            if kind == .query || !firesOn.isEmpty {
                writer.member("firesOn", firesOn)
            }
            writer.member("firesOnce", firesOnce)
            writer.optional("zoneWide", isZoneWide)
            writer.optional("recordType", recordType)
            writer.optional("notificationInfo", notificationInfo)
        }
    }
}

extension SubscriptionResult: ListItem {
    public static var listKey: StaticString { "subscriptions" }

    public init(wire node: JSONNode) throws(WireError) {
        if ServiceError.isError(node) {
            self = .failure(
                subscriptionID: try node.optional("subscriptionID"), try ServiceError(wire: node))
        } else if try node.optional("deleted", as: Bool.self) == true {
            self = .deleted(subscriptionID: try node.required("subscriptionID"))
        } else {
            self = .subscription(try SubscriptionDictionary(wire: node))
        }
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .subscription(let subscription): subscription.write(to: &writer)
        case .deleted(let identifier):
            writer.object { writer in
                writer.member("subscriptionID", identifier)
                writer.member("deleted", true)
            }
        case .failure(let identifier, let error):
            writer.object { writer in
                writer.optional("subscriptionID", identifier)
                error.writeMembers(to: &writer)
            }
        }
    }
}

extension SubscriptionDictionary.NotificationInfo: WireObject {
    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("alertBody", &alertBody)
        try coder.optional("alertLocalizationKey", &alertLocalizationKey)
        try coder.nonempty("alertLocalizationArgs", &alertLocalizationArgs)
        try coder.optional("title", &title)
        try coder.optional("titleLocalizationKey", &titleLocalizationKey)
        try coder.nonempty("titleLocalizationArgs", &titleLocalizationArgs)
        try coder.optional("subtitle", &subtitle)
        try coder.optional("subtitleLocalizationKey", &subtitleLocalizationKey)
        try coder.nonempty("subtitleLocalizationArgs", &subtitleLocalizationArgs)
        try coder.optional("alertActionLocalizationKey", &alertActionLocalizationKey)
        try coder.optional("alertLaunchImage", &alertLaunchImage)
        try coder.optional("soundName", &soundName)
        try coder.flag("shouldBadge", &shouldBadge)
        try coder.flag("shouldSendContentAvailable", &shouldSendContentAvailable)
        try coder.flag("shouldSendMutableContent", &shouldSendMutableContent)
        try coder.nonempty("additionalFields", &additionalFields)
        try coder.optional("category", &category)
        try coder.optional("collapseIDKey", &collapseIDKey)
    }
}

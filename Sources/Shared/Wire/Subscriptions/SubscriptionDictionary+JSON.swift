import StratusRecords

extension SubscriptionDictionary: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            subscriptionID: try node.optional("subscriptionID"),
            kind: try node.optionalWord("subscriptionType"),
            zoneID: try node.optional("zoneID"),
            query: try node.optional("query"),
            firesOn: try Self.occasions(node),
            firesOnce: try node.optional("firesOnce") ?? false,
            isZoneWide: try node.optional("zoneWide"),
            recordType: try node.optional("recordType"),
            notificationInfo: try node.optional("notificationInfo"))
    }

    private static func occasions(_ node: JSONNode) throws(WireError) -> [Occasion] {
        let words: [String] = try node.optional("firesOn") ?? []
        var occasions: [Occasion] = []
        for word in words {
            guard let occasion = Occasion(rawValue: word) else {
                throw WireError("The protocol does not know this word.")
                    .within(index: occasions.count).within("firesOn")
            }
            occasions.append(occasion)
        }
        return occasions
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("subscriptionID", subscriptionID)
            // A deletion needs no more than the identifier.
            guard let kind else { return }
            writer.member("subscriptionType", kind.rawValue)
            writer.optional("zoneID", zoneID)
            writer.optional("query", query)
            if kind == .query || !firesOn.isEmpty {
                writer.member("firesOn", firesOn.map(\.rawValue))
            }
            writer.member("firesOnce", firesOnce)
            writer.optional("zoneWide", isZoneWide)
            writer.optional("recordType", recordType)
            writer.optional("notificationInfo", notificationInfo)
        }
    }
}

extension SubscriptionDictionary.NotificationInfo: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            alertBody: try node.optional("alertBody"),
            alertLocalizationKey: try node.optional("alertLocalizationKey"),
            alertLocalizationArgs: try node.optional("alertLocalizationArgs") ?? [],
            title: try node.optional("title"),
            titleLocalizationKey: try node.optional("titleLocalizationKey"),
            titleLocalizationArgs: try node.optional("titleLocalizationArgs") ?? [],
            subtitle: try node.optional("subtitle"),
            subtitleLocalizationKey: try node.optional("subtitleLocalizationKey"),
            subtitleLocalizationArgs: try node.optional("subtitleLocalizationArgs") ?? [],
            alertActionLocalizationKey: try node.optional("alertActionLocalizationKey"),
            alertLaunchImage: try node.optional("alertLaunchImage"),
            soundName: try node.optional("soundName"),
            shouldBadge: try node.optional("shouldBadge") ?? false,
            shouldSendContentAvailable: try node.optional("shouldSendContentAvailable") ?? false,
            shouldSendMutableContent: try node.optional("shouldSendMutableContent") ?? false,
            additionalFields: try node.optional("additionalFields") ?? [],
            category: try node.optional("category"),
            collapseIDKey: try node.optional("collapseIDKey"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("alertBody", alertBody)
            writer.optional("alertLocalizationKey", alertLocalizationKey)
            writer.nonempty("alertLocalizationArgs", alertLocalizationArgs)
            writer.optional("title", title)
            writer.optional("titleLocalizationKey", titleLocalizationKey)
            writer.nonempty("titleLocalizationArgs", titleLocalizationArgs)
            writer.optional("subtitle", subtitle)
            writer.optional("subtitleLocalizationKey", subtitleLocalizationKey)
            writer.nonempty("subtitleLocalizationArgs", subtitleLocalizationArgs)
            writer.optional("alertActionLocalizationKey", alertActionLocalizationKey)
            writer.optional("alertLaunchImage", alertLaunchImage)
            writer.optional("soundName", soundName)
            writer.flag("shouldBadge", shouldBadge)
            writer.flag("shouldSendContentAvailable", shouldSendContentAvailable)
            writer.flag("shouldSendMutableContent", shouldSendMutableContent)
            writer.nonempty("additionalFields", additionalFields)
            writer.optional("category", category)
            writer.optional("collapseIDKey", collapseIDKey)
        }
    }
}

extension SubscriptionResult: WireReadable, WireWritable {
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

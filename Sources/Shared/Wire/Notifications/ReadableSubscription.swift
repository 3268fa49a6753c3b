import StratusRecords

/// The readable parts of a stored subscription that cannot be read as a whole: each member is read
/// on its own.
///
/// Filters and sort keys that cannot be read are left out, so it must not be matched with records.
package struct ReadableSubscription: WireReadable {
    package var subscription = SubscriptionDictionary(subscriptionID: nil, kind: nil)

    package init() {}

    package init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        subscription = SubscriptionDictionary(
            subscriptionID: node.readable("subscriptionID"),
            kind: node.readable("subscriptionType"),
            zoneID: node.readable("zoneID"),
            query: node["query"].flatMap(Self.query),
            firesOn: node["firesOn"].map(Self.elements) ?? [],
            firesOnce: node.readable("firesOnce") ?? false,
            isZoneWide: node.readable("zoneWide"),
            recordType: node.readable("recordType"),
            notificationInfo: node.readable("notificationInfo"))
    }

    private static func query(_ node: JSONNode) -> QueryDictionary? {
        guard node.isObject, let type: String = node.readable("recordType") else { return nil }
        return QueryDictionary(
            recordType: type, filterBy: node["filterBy"].map(elements) ?? [],
            sortBy: node["sortBy"].map(elements) ?? [])
    }

    private static func elements<Value: WireReadable>(_ node: JSONNode) -> [Value] {
        guard node.isArray else { return [] }
        // Unreadable elements are left out: this type exists to show the readable rest.
        return node.elements.compactMap { try? Value(wire: $0) }
    }
}

extension JSONNode {
    fileprivate func readable<Value: WireReadable>(_ key: StaticString) -> Value? {
        // Unreadable members are left out: the type above exists to show the readable rest.
        (try? optional(key, as: Value.self)).flatMap { $0 }
    }
}

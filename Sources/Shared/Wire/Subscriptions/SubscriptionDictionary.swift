import StratusRecords

/// A subscription as the protocol writes it.
public struct SubscriptionDictionary: Hashable, Sendable {
    public enum Kind: String, WireWord, Hashable, Sendable {
        case query
        case zone
        case database
    }

    public enum Occasion: String, WireWord, Hashable, Sendable, CaseIterable {
        case create
        case update
        case delete
    }

    /// Nil in a request asks the service for an identifier.
    public var subscriptionID: String?
    /// Nil only in a deletion, which needs no more than the identifier.
    public var kind: Kind?
    public var zoneID: ZoneIDDictionary?
    public var query: QueryDictionary?
    public var firesOn: [Occasion]
    public var firesOnce: Bool
    public var isZoneWide: Bool?
    /// An extension: the `recordType` of zone and database subscriptions.
    public var recordType: String?
    public var notificationInfo: NotificationInfo?

    public init(
        subscriptionID: String?, kind: Kind?, zoneID: ZoneIDDictionary? = nil,
        query: QueryDictionary? = nil, firesOn: [Occasion] = [], firesOnce: Bool = false,
        isZoneWide: Bool? = nil, recordType: String? = nil,
        notificationInfo: NotificationInfo? = nil
    ) {
        self.subscriptionID = subscriptionID
        self.kind = kind
        self.zoneID = zoneID
        self.query = query
        self.firesOn = firesOn
        self.firesOnce = firesOnce
        self.isZoneWide = isZoneWide
        self.recordType = recordType
        self.notificationInfo = notificationInfo
    }

    /// How a device shows a notification. The keys are the protocol's.
    public struct NotificationInfo: Hashable, Sendable {
        public var alertBody: String?
        public var alertLocalizationKey: String?
        public var alertLocalizationArgs: [String] = []
        public var title: String?
        public var titleLocalizationKey: String?
        public var titleLocalizationArgs: [String] = []
        public var subtitle: String?
        public var subtitleLocalizationKey: String?
        public var subtitleLocalizationArgs: [String] = []
        public var alertActionLocalizationKey: String?
        public var alertLaunchImage: String?
        public var soundName: String?
        public var shouldBadge = false
        public var shouldSendContentAvailable = false
        public var shouldSendMutableContent = false
        /// Fields of the record that a query notification contains.
        public var additionalFields: [String] = []
        public var category: String?
        public var collapseIDKey: String?

        public init(
            alertBody: String? = nil, alertLocalizationKey: String? = nil,
            alertLocalizationArgs: [String] = [], title: String? = nil,
            titleLocalizationKey: String? = nil, titleLocalizationArgs: [String] = [],
            subtitle: String? = nil, subtitleLocalizationKey: String? = nil,
            subtitleLocalizationArgs: [String] = [], alertActionLocalizationKey: String? = nil,
            alertLaunchImage: String? = nil, soundName: String? = nil, shouldBadge: Bool = false,
            shouldSendContentAvailable: Bool = false, shouldSendMutableContent: Bool = false,
            additionalFields: [String] = [], category: String? = nil, collapseIDKey: String? = nil
        ) {
            self.alertBody = alertBody
            self.alertLocalizationKey = alertLocalizationKey
            self.alertLocalizationArgs = alertLocalizationArgs
            self.title = title
            self.titleLocalizationKey = titleLocalizationKey
            self.titleLocalizationArgs = titleLocalizationArgs
            self.subtitle = subtitle
            self.subtitleLocalizationKey = subtitleLocalizationKey
            self.subtitleLocalizationArgs = subtitleLocalizationArgs
            self.alertActionLocalizationKey = alertActionLocalizationKey
            self.alertLaunchImage = alertLaunchImage
            self.soundName = soundName
            self.shouldBadge = shouldBadge
            self.shouldSendContentAvailable = shouldSendContentAvailable
            self.shouldSendMutableContent = shouldSendMutableContent
            self.additionalFields = additionalFields
            self.category = category
            self.collapseIDKey = collapseIDKey
        }
    }
}

/// A subscription in an answer: it exists, was deleted as requested, or failed.
public enum SubscriptionResult: Hashable, Sendable {
    case subscription(SubscriptionDictionary)
    case deleted(subscriptionID: String)
    case failure(subscriptionID: String?, ServiceError)
}

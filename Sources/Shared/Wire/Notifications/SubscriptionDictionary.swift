import StratusRecords

/// A subscription as the protocol writes it.
public struct SubscriptionDictionary: Hashable, Sendable {
    /// What a subscription watches.
    public enum Kind: String, WireWord, Hashable, Sendable {
        /// Records that match a query; in the public and the private database.
        case query
        /// All changes of a custom zone; in the private database.
        case zone
        /// All changes of custom zones, also their creation and deletion; in the private and the shared database.
        case database
    }

    /// A change of a record for which a query subscription fires.
    public enum Occasion: String, WireWord, Hashable, Sendable, CaseIterable {
        /// A record was created and matches.
        case create
        /// A record was changed and matches after that.
        case update
        /// A record that matched was deleted.
        case delete
    }

    /// Nil in a request asks the service for an identifier.
    public var subscriptionID: String?
    /// Nil only in a deletion, which needs no more than the identifier.
    public var kind: Kind?
    /// The custom zone that a zone subscription watches, or the only zone of a query subscription.
    public var zoneID: ZoneIDDictionary?
    /// The records that a query subscription watches; nil for the other kinds.
    public var query: QueryDictionary?
    /// The changes for which a query subscription fires, at least one; has no effect for the other kinds.
    public var firesOn: [Occasion]
    /// Whether the subscription is removed before its first notification is sent, so that it fires once.
    public var firesOnce: Bool
    /// Whether a query subscription watches all zones, regardless of ``zoneID``; nil is true without a ``zoneID``.
    public var isZoneWide: Bool?
    /// An extension: the `recordType` of zone and database subscriptions.
    public var recordType: String?
    /// How devices show the notification; nil for a silent one.
    public var notificationInfo: NotificationInfo?

    /// Makes a subscription; which members it needs depends on its kind.
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
        /// The text of the alert: `body` in the payload.
        public var alertBody: String?
        /// The key of the alert's text in the app's localized strings: `loc-key` in the payload.
        public var alertLocalizationKey: String?
        /// The names of fields whose values fill the placeholders of the alert's text; in a payload the values.
        public var alertLocalizationArgs: [String] = []
        /// The title of the alert. An extension.
        public var title: String?
        /// The key of the title in the app's localized strings: `title-loc-key` in the payload. An extension.
        public var titleLocalizationKey: String?
        /// The names of fields whose values fill the title's placeholders; in a payload the values. An extension.
        public var titleLocalizationArgs: [String] = []
        /// The subtitle of the alert. An extension.
        public var subtitle: String?
        /// The key of the subtitle in the app's localized strings: `subtitle-loc-key` in the payload. An extension.
        public var subtitleLocalizationKey: String?
        /// The names of fields whose values fill the subtitle's placeholders; in a payload the values. An extension.
        public var subtitleLocalizationArgs: [String] = []
        /// The key of the action button's text in the app's localized strings: `action-loc-key` in the payload.
        public var alertActionLocalizationKey: String?
        /// The image of the app's bundle that is shown while the app starts: `launch-image` in the payload.
        public var alertLaunchImage: String?
        /// The name of a sound file in the app's bundle, or `default`; nil for no sound.
        public var soundName: String?
        /// Whether the app's icon gets a badge; the payload's `badge` is then 1.
        public var shouldBadge = false
        /// Whether the notification wakes the app in the background: `content-available` in the payload.
        public var shouldSendContentAvailable = false
        /// Whether the app may change the notification first: `mutable-content` in the payload. An extension.
        public var shouldSendMutableContent = false
        /// Fields of the record that a query notification contains.
        public var additionalFields: [String] = []
        /// The group of actions that the app offers with the notification: `category` in the payload.
        public var category: String?
        /// The identifier by which a notification through Apple's push service replaces an earlier one, at most 64
        /// bytes; or the name of a field with it. Nil lets the service choose. An extension.
        public var collapseIDKey: String?

        /// Makes the content of notifications; by default they show nothing.
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
    /// The subscription as it is stored.
    case subscription(SubscriptionDictionary)
    /// The subscription was deleted by the request.
    case deleted(subscriptionID: String)
    /// The subscription could not be fetched, saved or deleted.
    case failure(subscriptionID: String?, ServiceError)
}

import Foundation
import StratusWire
import Synchronization

/// The content of a subscription's notifications. `CKSubscription.NotificationInfo` in code.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let state: Mutex<SubscriptionDictionary.NotificationInfo>

    init(_ dictionary: SubscriptionDictionary.NotificationInfo) {
        state = Mutex(dictionary)
    }

    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [], title: String? = nil,
        titleLocalizationKey: String? = nil, titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil, subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil, alertLaunchImage: String? = nil,
        soundName: String? = nil, desiredKeys: [CKRecord.FieldKey] = [], shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false, shouldSendMutableContent: Bool = false,
        category: String? = nil, collapseIDKey: String? = nil
    ) {
        self.init(
            SubscriptionDictionary.NotificationInfo(
                alertBody: alertBody, alertLocalizationKey: alertLocalizationKey,
                alertLocalizationArgs: alertLocalizationArgs, title: title,
                titleLocalizationKey: titleLocalizationKey,
                titleLocalizationArgs: titleLocalizationArgs, subtitle: subtitle,
                subtitleLocalizationKey: subtitleLocalizationKey,
                subtitleLocalizationArgs: subtitleLocalizationArgs,
                alertActionLocalizationKey: alertActionLocalizationKey,
                alertLaunchImage: alertLaunchImage, soundName: soundName, shouldBadge: shouldBadge,
                shouldSendContentAvailable: shouldSendContentAvailable,
                shouldSendMutableContent: shouldSendMutableContent, additionalFields: desiredKeys,
                category: category, collapseIDKey: collapseIDKey))
    }

    /// The notification info in the protocol's form.
    var dictionary: SubscriptionDictionary.NotificationInfo { state.withLock { $0 } }

    private func set(_ change: (inout sending SubscriptionDictionary.NotificationInfo) -> Void) {
        state.withLock { change(&$0) }
    }

    public var alertBody: String? {
        get { dictionary.alertBody }
        set { set { $0.alertBody = newValue } }
    }
    public var alertLocalizationKey: String? {
        get { dictionary.alertLocalizationKey }
        set { set { $0.alertLocalizationKey = newValue } }
    }
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.alertLocalizationArgs }
        set { set { $0.alertLocalizationArgs = newValue ?? [] } }
    }
    public var title: String? {
        get { dictionary.title }
        set { set { $0.title = newValue } }
    }
    public var titleLocalizationKey: String? {
        get { dictionary.titleLocalizationKey }
        set { set { $0.titleLocalizationKey = newValue } }
    }
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.titleLocalizationArgs }
        set { set { $0.titleLocalizationArgs = newValue ?? [] } }
    }
    public var subtitle: String? {
        get { dictionary.subtitle }
        set { set { $0.subtitle = newValue } }
    }
    public var subtitleLocalizationKey: String? {
        get { dictionary.subtitleLocalizationKey }
        set { set { $0.subtitleLocalizationKey = newValue } }
    }
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.subtitleLocalizationArgs }
        set { set { $0.subtitleLocalizationArgs = newValue ?? [] } }
    }
    public var alertActionLocalizationKey: String? {
        get { dictionary.alertActionLocalizationKey }
        set { set { $0.alertActionLocalizationKey = newValue } }
    }
    public var alertLaunchImage: String? {
        get { dictionary.alertLaunchImage }
        set { set { $0.alertLaunchImage = newValue } }
    }
    public var soundName: String? {
        get { dictionary.soundName }
        set { set { $0.soundName = newValue } }
    }
    /// The fields that a query notification includes; three at most.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { dictionary.additionalFields }
        set { set { $0.additionalFields = newValue ?? [] } }
    }
    public var shouldBadge: Bool {
        get { dictionary.shouldBadge }
        set { set { $0.shouldBadge = newValue } }
    }
    /// Whether the notification wakes the app; if nothing else is set, the notification is silent.
    public var shouldSendContentAvailable: Bool {
        get { dictionary.shouldSendContentAvailable }
        set { set { $0.shouldSendContentAvailable = newValue } }
    }
    public var shouldSendMutableContent: Bool {
        get { dictionary.shouldSendMutableContent }
        set { set { $0.shouldSendMutableContent = newValue } }
    }
    public var category: String? {
        get { dictionary.category }
        set { set { $0.category = newValue } }
    }
    public var collapseIDKey: String? {
        get { dictionary.collapseIDKey }
        set { set { $0.collapseIDKey = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(dictionary) }
}

extension CKNotificationInfo {
    public static var supportsSecureCoding: Bool { true }

    private static let texts:
        [(
            key: String,
            path: WritableKeyPath<SubscriptionDictionary.NotificationInfo, String?> & Sendable
        )] = [
            ("alertBody", \.alertBody), ("alertLocalizationKey", \.alertLocalizationKey),
            ("title", \.title), ("titleLocalizationKey", \.titleLocalizationKey),
            ("subtitle", \.subtitle), ("subtitleLocalizationKey", \.subtitleLocalizationKey),
            ("alertActionLocalizationKey", \.alertActionLocalizationKey),
            ("alertLaunchImage", \.alertLaunchImage), ("soundName", \.soundName),
            ("category", \.category), ("collapseIDKey", \.collapseIDKey),
        ]

    private static let lists:
        [(
            key: String,
            path: WritableKeyPath<SubscriptionDictionary.NotificationInfo, [String]> & Sendable
        )] = [
            ("alertLocalizationArgs", \.alertLocalizationArgs),
            ("titleLocalizationArgs", \.titleLocalizationArgs),
            ("subtitleLocalizationArgs", \.subtitleLocalizationArgs),
            ("desiredKeys", \.additionalFields),
        ]

    public func encode(with coder: NSCoder) {
        let dictionary = dictionary
        for (key, path) in Self.texts { coder.archive(dictionary[keyPath: path], key) }
        for (key, path) in Self.lists { coder.archive(dictionary[keyPath: path], key) }
        coder.encode(dictionary.shouldBadge, forKey: "shouldBadge")
        coder.encode(dictionary.shouldSendContentAvailable, forKey: "shouldSendContentAvailable")
        coder.encode(dictionary.shouldSendMutableContent, forKey: "shouldSendMutableContent")
    }

    public convenience init?(coder: NSCoder) {
        var dictionary = SubscriptionDictionary.NotificationInfo()
        for (key, path) in Self.texts { dictionary[keyPath: path] = coder.archivedString(key) }
        for (key, path) in Self.lists {
            dictionary[keyPath: path] = coder.archivedStrings(key) ?? []
        }
        dictionary.shouldBadge = coder.decodeBool(forKey: "shouldBadge")
        dictionary.shouldSendContentAvailable = coder.decodeBool(
            forKey: "shouldSendContentAvailable")
        dictionary.shouldSendMutableContent = coder.decodeBool(forKey: "shouldSendMutableContent")
        self.init(dictionary)
    }
}

import Foundation
import StratusWire
import Synchronization

/// The content of a subscription's notifications. `CKSubscription.NotificationInfo` in code.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let state: Mutex<SubscriptionDictionary.NotificationInfo>

    init(_ dictionary: SubscriptionDictionary.NotificationInfo) {
        state = Mutex(dictionary)
    }

    /// Makes the content of notifications; the parameters are the initial values of the properties.
    ///
    /// - Parameter desiredKeys: three fields at most; otherwise saving the subscription fails.
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

    /// The text of the alert; nil for none.
    public var alertBody: String? {
        get { dictionary.alertBody }
        set { set { $0.alertBody = newValue } }
    }
    /// The key, in the app's localized strings, of a text to show instead of ``alertBody``.
    public var alertLocalizationKey: String? {
        get { dictionary.alertLocalizationKey }
        set { set { $0.alertLocalizationKey = newValue } }
    }
    /// The names of the fields whose values fill the placeholders in the localized text.
    ///
    /// Stratus's service sends strings, of which it keeps 100 characters, numbers, dates and the
    /// names of references. Other values, and all in zone and database notifications, are empty.
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.alertLocalizationArgs }
        set { set { $0.alertLocalizationArgs = newValue ?? [] } }
    }
    /// The title of the alert; nil for none.
    public var title: String? {
        get { dictionary.title }
        set { set { $0.title = newValue } }
    }
    /// The key, in the app's localized strings, of a title to show instead of ``title``.
    public var titleLocalizationKey: String? {
        get { dictionary.titleLocalizationKey }
        set { set { $0.titleLocalizationKey = newValue } }
    }
    /// The names of the fields whose values fill the placeholders in the localized title; see
    /// ``alertLocalizationArgs``.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.titleLocalizationArgs }
        set { set { $0.titleLocalizationArgs = newValue ?? [] } }
    }
    /// The subtitle of the alert; nil for none.
    public var subtitle: String? {
        get { dictionary.subtitle }
        set { set { $0.subtitle = newValue } }
    }
    /// The key, in the app's localized strings, of a subtitle to show instead of ``subtitle``.
    public var subtitleLocalizationKey: String? {
        get { dictionary.subtitleLocalizationKey }
        set { set { $0.subtitleLocalizationKey = newValue } }
    }
    /// The names of the fields whose values fill the placeholders in the localized subtitle; see
    /// ``alertLocalizationArgs``.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { dictionary.subtitleLocalizationArgs }
        set { set { $0.subtitleLocalizationArgs = newValue ?? [] } }
    }
    /// The key, in the app's localized strings, of the title of the alert's action button.
    public var alertActionLocalizationKey: String? {
        get { dictionary.alertActionLocalizationKey }
        set { set { $0.alertActionLocalizationKey = newValue } }
    }
    /// The file name of the image to show while the app is launched from the notification.
    public var alertLaunchImage: String? {
        get { dictionary.alertLaunchImage }
        set { set { $0.alertLaunchImage = newValue } }
    }
    /// The name of the sound to play; nil for none.
    public var soundName: String? {
        get { dictionary.soundName }
        set { set { $0.soundName = newValue } }
    }
    /// The fields that a query notification includes; three at most.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { dictionary.additionalFields }
        set { set { $0.additionalFields = newValue ?? [] } }
    }
    /// Whether notifications set the badge of the app's icon; Stratus's service sets it to 1. False
    /// by default.
    public var shouldBadge: Bool {
        get { dictionary.shouldBadge }
        set { set { $0.shouldBadge = newValue } }
    }
    /// Whether the notification wakes the app; if nothing else is set, the notification is silent.
    public var shouldSendContentAvailable: Bool {
        get { dictionary.shouldSendContentAvailable }
        set { set { $0.shouldSendContentAvailable = newValue } }
    }
    /// Whether an extension of the app may change a notification before it is shown; false by
    /// default.
    public var shouldSendMutableContent: Bool {
        get { dictionary.shouldSendMutableContent }
        set { set { $0.shouldSendMutableContent = newValue } }
    }
    /// The identifier of the notifications' category, which decides their actions; nil for none.
    public var category: String? {
        get { dictionary.category }
        set { set { $0.category = newValue } }
    }
    /// The name of a field whose value identifies notifications that replace each other, or that
    /// identifier itself if the record has no such field.
    ///
    /// Apple's push service receives it if it has 1 to 64 bytes. Otherwise only notifications about
    /// the same change, zone or database replace each other.
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

import StratusRecords

/// Sends notifications to a platform's push service. The implementation for Apple's is in StratusServer.
///
/// Notifications are hints: an implementation may fail, and returns how. It is never called for more than
/// `Limits.pushesAtOnce` notifications at a time.
public protocol PushDelivery: Sendable {
    /// Makes one attempt to send a notification. The caller decides by the outcome whether to try again.
    func send(_ push: Push) async -> PushOutcome
}

/// A notification for Apple's push service, and the values of its headers.
public struct Push: Hashable, Sendable {
    /// The push service's two environments.
    public enum Environment: Hashable, Sendable {
        /// Apple's sandbox, for apps that are signed for development.
        case development
        /// For all other apps, such as those from TestFlight and the App Store.
        case production
    }

    /// The header `apns-push-type`.
    public enum Kind: String, Hashable, Sendable {
        /// The person sees or hears it: an alert, a badge or a sound.
        case alert
        /// It wakes the app without showing anything.
        case background
    }

    /// Hexadecimal digits.
    public var deviceToken: String
    /// The environment of the push service in which the device token is valid.
    public var environment: Environment
    /// The container that the notification is about. Without a configured topic, `apns-topic` is derived from it.
    public var containerIdentifier: String
    /// Whether the person notices the notification; also decides ``priority``.
    public var kind: Kind
    /// Notifications with the same identifier replace one another on a device; at most 64 bytes.
    public var collapseIdentifier: String
    /// When the push service may give up, in seconds since 1970.
    public var expirationSeconds: Int64
    /// The JSON of the notification.
    public var payload: [UInt8]

    /// Makes a notification for one device.
    public init(
        deviceToken: String, environment: Environment, containerIdentifier: String, kind: Kind,
        collapseIdentifier: String, expirationSeconds: Int64, payload: [UInt8]
    ) {
        self.deviceToken = deviceToken
        self.environment = environment
        self.containerIdentifier = containerIdentifier
        self.kind = kind
        self.collapseIdentifier = collapseIdentifier
        self.expirationSeconds = expirationSeconds
        self.payload = payload
    }

    /// 10, deliver immediately, for what a person sees or hears; 5 for what wakes the app in the background.
    public var priority: Int { kind == .alert ? 10 : 5 }
}

/// The result of sending a notification.
public enum PushOutcome: Hashable, Sendable {
    /// The push service accepted the notification, which does not mean that the device has it.
    case delivered
    /// The device token is not valid, or no longer valid.
    ///
    /// - Parameter sinceMilliseconds: Since when, in milliseconds since 1970; nil when unknown.
    case deviceIsGone(sinceMilliseconds: Int64?)
    /// The same notification may succeed later, after `seconds` if the push service named a time.
    ///
    /// - Parameter reason: What the push service answered, or why it was not reached; for the log.
    case tryLater(seconds: Double?, reason: String? = nil)
    /// The push service will never accept the notification.
    case refused(reason: String)
}

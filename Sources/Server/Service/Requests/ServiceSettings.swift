import Logging
import StratusRecords
import StratusRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The settings of a service. Everything nondeterministic that it uses is part of them.
///
/// ```swift
/// var settings = ServiceSettings(isForDevelopment: false)
/// settings.limits.recordsPerPage = 100
/// settings.accounts.signUp = .open
/// let service = CloudService(storage: storage, settings: settings)
/// ```
public struct ServiceSettings: Sendable {
    /// The limits that the service enforces.
    public var limits: Limits

    /// Whether containers and users are created at their first use, and the API token ``developmentToken`` is valid
    /// everywhere. Never for real data.
    public var isForDevelopment: Bool

    /// Whether senders that exceed their rate are refused (`Throttle`). A service for development has no rate limits by
    /// default, so that no test is refused by accident.
    public var isThrottled: Bool

    /// Threads on which heavy requests run (`HeavyRequests`), fewer than the machine has processors. By default there
    /// are none: all requests run where Swift's tasks run.
    public var heavyThreads = 0

    /// How people get accounts.
    public var accounts = AccountSettings()

    /// The source of time and randomness, and what starts tasks.
    public var world: World

    /// Where the service logs; by default under the label `stratus.service`.
    public var logger: Logger

    /// Apple's push service; nil when notifications go to long polls only.
    public var pushDelivery: (any PushDelivery)?

    /// The API token of a service for development.
    public static let developmentToken = "development"

    /// Makes settings; ``accounts`` and ``heavyThreads`` have their defaults.
    ///
    /// - Parameter isThrottled: By default the opposite of `isForDevelopment`.
    public init(
        isForDevelopment: Bool, limits: Limits = Limits(), isThrottled: Bool? = nil,
        world: World = .live, logger: Logger = Logger(label: "stratus.service"),
        pushDelivery: (any PushDelivery)? = nil
    ) {
        self.isForDevelopment = isForDevelopment
        self.limits = limits
        self.isThrottled = isThrottled ?? !isForDevelopment
        self.world = world
        self.logger = logger
        self.pushDelivery = pushDelivery
    }
}

extension World {
    /// A random identifier of 32 hexadecimal digits.
    func newIdentifier() -> String {
        Hexadecimal.text(randomBytes(16))
    }

    /// A random UUID (version 4, RFC 9562), in capitals as Apple's platforms print them.
    func newUUID() -> String {
        makeUUID().uuidString
    }
}

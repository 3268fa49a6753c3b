import Crypto
import DequeModule
import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Notifications on their way to Apple's push service: a bounded queue, a bounded number at a time, and retries with
/// growing pauses. Nothing waits for it.
actor PushQueue {
    private let directory: any Directory
    private let limits: Limits
    private let world: World
    private let logger: Logger
    private let delivery: any PushDelivery
    private var waiting: Deque<Push> = []
    private var running = 0

    /// The longest pause before the next attempt, even if Apple asks for a longer one: a notification that waits takes
    /// the place of another one.
    private static let longestRetrySeconds: Double = 300

    init(
        directory: any Directory, limits: Limits, world: World, logger: Logger,
        delivery: any PushDelivery
    ) {
        self.directory = directory
        self.limits = limits
        self.world = world
        self.logger = logger
        self.delivery = delivery
    }

    /// How many notifications wait for their first attempt.
    var count: Int { waiting.count }

    func deliver(_ deliveries: [Delivery]) {
        for delivery in deliveries { add(push(delivery)) }
    }

    /// Queues a notification. It replaces a waiting one with the same identifier; when the queue is full, the oldest is
    /// dropped.
    private func add(_ push: Push) {
        if running < limits.pushesAtOnce {
            running += 1
            _ = world.startTask("push") { await self.run(push) }
            return
        }
        let same = waiting.firstIndex {
            $0.deviceToken == push.deviceToken && $0.collapseIdentifier == push.collapseIdentifier
        }
        if let same {
            waiting[same] = push
        } else {
            if waiting.count >= limits.waitingPushes { waiting.removeFirst() }
            waiting.append(push)
        }
    }

    /// Sends a notification, and then the waiting ones, until there are none.
    private func run(_ push: Push) async {
        var next: Push? = push
        while let push = next {
            await send(push)
            next = waiting.popFirst()
        }
        running -= 1
    }

    private func send(_ push: Push) async {
        var backoff = Backoff(firstSeconds: 1, longestSeconds: Self.longestRetrySeconds)
        var lastReason: String?
        for attempt in 1...max(1, limits.attemptsPerPush) {
            switch await delivery.send(push) {
            case .delivered: return
            case .refused(let reason):
                logger.warning(
                    "The push service refused a notification. It was dropped; the device sees the change at its next fetch.",
                    metadata: [
                        "container": "\(push.containerIdentifier)", "reason": "\(reason)",
                    ])
                return
            case .deviceIsGone(let since): return await forget(push.deviceToken, goneSince: since)
            case .tryLater(let seconds, let reason):
                lastReason = reason
                guard attempt < limits.attemptsPerPush else { break }
                let pause = max(seconds ?? 0, backoff.nextSeconds())
                // Nothing cancels this sleep; if it throws, the next attempt is only earlier.
                try? await world.sleep(min(pause, Self.longestRetrySeconds))
            }
        }
        logger.warning(
            "The push service took a notification in none of the attempts. It was dropped; the device sees the change at its next fetch.",
            metadata: [
                "container": "\(push.containerIdentifier)", "reason": "\(lastReason ?? "-")",
                "attempts": "\(max(1, limits.attemptsPerPush))",
            ])
    }

    /// Removes a token that the push service no longer knows, unless it was registered again since.
    private func forget(_ deviceToken: String, goneSince milliseconds: Int64?) async {
        do {
            let rows = try await directory.devices(pushToken: deviceToken)
            for row in rows where row.lastUsedMilliseconds <= milliseconds ?? .max {
                try await directory.deleteDevice(pushToken: deviceToken, in: row.address)
            }
        } catch {
            // The token stays; the push service reports it again with the next notification.
            logger.debug(
                "A push token that is gone could not be removed; it is tried again with the next notification.",
                metadata: ["error": "\(error)"])
        }
    }

    private func push(_ delivery: Delivery) -> Push {
        var payload = delivery.payload
        let info = payload.notificationInfo
        let kind: Push.Kind = info?.isVisible == true ? .alert : .background
        if kind == .background {
            // Without it the push service refuses notifications that show nothing.
            payload.notificationInfo = info ?? .init()
            payload.notificationInfo?.shouldSendContentAvailable = true
        }
        payload = payload.pruned(toBytes: limits.notificationBytes)
        let lifetime = limits.pushLifetimeSeconds
        return Push(
            deviceToken: delivery.device.pushToken,
            environment: delivery.device.channel == .apnsProduction ? .production : .development,
            containerIdentifier: delivery.device.address.container, kind: kind,
            collapseIdentifier: Self.collapseIdentifier(of: payload),
            expirationSeconds: world.nowMilliseconds() / 1_000 + Int64(lifetime),
            payload: wireBytes(of: payload))
    }

    /// The subscription's own identifier if it has one that fits; otherwise one for all notifications about the same
    /// thing, such as a zone, or a record's change.
    private static func collapseIdentifier(of payload: NotificationPayload) -> String {
        if let key = payload.notificationInfo?.collapseIDKey, (1...64).contains(key.utf8.count) {
            return key
        }
        let subject = payload.subject
        var writer = ByteWriter()
        writer.write(subject.containerIdentifier)
        writer.write(subject.userRecordName)
        writer.write(subject.subscriptionID)
        writer.write(number: Int64(subject.scope.rawValue))
        writer.write(subject.notificationID)
        writer.write(subject.zoneID?.name)
        writer.write(subject.zoneID?.ownerName)
        return Base64.text(Array(SHA256.hash(data: writer.bytes)))
    }
}

extension SubscriptionDictionary.NotificationInfo {
    /// Whether a person sees or hears the notification.
    var isVisible: Bool { hasAlert || shouldBadge || soundName != nil }
}

import Foundation
import StratusRecords
import StratusWire

/// A hint from the service that something changed.
public struct RemoteNotification: Sendable {
    package let payload: NotificationPayload

    package init(payload: NotificationPayload) {
        self.payload = payload
    }

    public var subscriptionID: String { payload.subscriptionID }

    /// The dictionary that an app gives to `CKNotification(fromRemoteNotificationDictionary:)`.
    ///
    /// Keys as Apple's push service delivers them.
    public var userInfo: [AnyHashable: Any] {
        var cloud: [String: Any] = [
            "ce": 2, "nid": payload.notificationID, "ckuserid": payload.userRecordName,
        ]
        cloud["cid"] = payload.containerIdentifier
        if payload.isPruned { cloud["p"] = 1 }
        var cause: [String: Any] = [
            "sid": payload.subscriptionID, "dbs": payload.scope.rawValue,
        ]
        switch payload.cause {
        case .query(let recordName, let reason, let zoneID, let fields):
            cause["rid"] = recordName
            cause["fo"] = reason?.rawValue
            cause["zid"] = zoneID?.name
            cause["zoid"] = zoneID?.ownerName
            var values: [String: Any] = [:]
            for field in fields {
                values[field.name] = field.value.flatMap { StoredValue.wire($0).object }
            }
            if !values.isEmpty { cause["af"] = values }
            cloud["qry"] = cause
        case .zone(let zoneID):
            cause["zid"] = zoneID?.name
            cause["zoid"] = zoneID?.ownerName
            cloud["fet"] = cause
        case .database:
            cloud["met"] = cause
        }
        return ["ck": cloud, "aps": payload.notificationInfo.map(Self.aps) ?? [String: Any]()]
    }

    private static func aps(_ info: SubscriptionDictionary.NotificationInfo) -> [String: Any] {
        var alert: [String: Any] = [:]
        alert["body"] = info.alertBody
        alert["loc-key"] = info.alertLocalizationKey
        if !info.alertLocalizationArgs.isEmpty { alert["loc-args"] = info.alertLocalizationArgs }
        alert["title"] = info.title
        alert["title-loc-key"] = info.titleLocalizationKey
        if !info.titleLocalizationArgs.isEmpty {
            alert["title-loc-args"] = info.titleLocalizationArgs
        }
        alert["subtitle"] = info.subtitle
        alert["subtitle-loc-key"] = info.subtitleLocalizationKey
        if !info.subtitleLocalizationArgs.isEmpty {
            alert["subtitle-loc-args"] = info.subtitleLocalizationArgs
        }
        alert["action-loc-key"] = info.alertActionLocalizationKey
        alert["launch-image"] = info.alertLaunchImage
        var aps: [String: Any] = [:]
        if !alert.isEmpty { aps["alert"] = alert }
        aps["sound"] = info.soundName
        aps["category"] = info.category
        if info.shouldBadge { aps["badge"] = 1 }
        if info.shouldSendContentAvailable { aps["content-available"] = 1 }
        if info.shouldSendMutableContent { aps["mutable-content"] = 1 }
        return aps
    }
}

/// What a listener for notifications learns.
public enum RemoteNotificationEvent: Sendable {
    /// The service knows of the listener from now on. Whatever was sent before may have been
    /// missed: fetch once.
    case listening
    case notification(RemoteNotification)
}

extension CloudConnection {
    /// Seconds that one long poll may take; longer than the service holds it open.
    static let pollSeconds: Double = 90

    /// Seconds from one poll without a notification to the next, at the least.
    static let shortestPollSeconds: Double = 1

    /// Listens for the notifications of a container until the stream's consumer ends or is
    /// cancelled.
    ///
    /// Registers the device, then polls; after an error it waits (1 s, doubled at each failure, 60
    /// s at most) and registers anew. When the account changes it does so for the next one at once,
    /// and while there is none it rests. At most 100 events are kept for a slow consumer; the oldest
    /// give way, as notifications are hints and never data.
    ///
    /// ```swift
    /// for await case .notification(let hint) in connection.remoteNotifications(container:
    /// identifier) {
    ///     let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
    /// }
    /// ```
    public func remoteNotifications(container: String) -> AsyncStream<RemoteNotificationEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
            let task = Task {
                await self.listenForAccounts(container: container) { continuation.yield($0) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Listens for one account after the other.
    private func listenForAccounts(
        container: String, report: @escaping @Sendable (RemoteNotificationEvent) -> Void
    ) async {
        while !Task.isCancelled {
            // Anew each time: whoever is cancelled while it waits ends such a stream.
            let (changes, changed) = AsyncStream.makeStream(of: Void.self)
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: self, queue: nil
            ) { _ in changed.yield() }
            defer { NotificationCenter.default.removeObserver(observer) }
            let changeCount = accountChangeCount
            let isChanged = await withTaskGroup(of: Bool.self) { group in
                if hasAccount {
                    group.addTask {
                        await self.listen(container, changeCount, report)
                        return self.accountChangeCount != changeCount
                    }
                }
                group.addTask {
                    for await _ in changes { break }
                    return true
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
            guard isChanged else { return }
        }
    }

    /// Listens until the account changes, or nothing can be waited for any more.
    private func listen(
        _ container: String, _ changeCount: Int,
        _ report: @Sendable (RemoteNotificationEvent) -> Void
    ) async {
        let target = RequestTarget(
            container: ContainerAddress(container: container, environment: environment), scope: nil)
        let sender = RequestSender(connection: self, target: target, pace: RequestPace())
        var delaySeconds = RequestPace.firstDelaySeconds
        while !Task.isCancelled {
            do {
                let address = try await register(through: sender, changeCount)
                guard accountChangeCount == changeCount else { return }
                report(.listening)
                while true {
                    // A cancelled poll ends without an error, and so would the next one.
                    try Task.checkCancellation()
                    let begun = world.now()
                    let payload = try await transport.nextNotification(
                        at: address, timeoutSeconds: Self.pollSeconds)
                    if payload == nil,
                        world.now().timeIntervalSince(begun) < Self.shortestPollSeconds
                    {
                        // The service holds nothing open; asking it without a pause would hurt both.
                        try await world.sleep(Self.shortestPollSeconds)
                    }
                    delaySeconds = RequestPace.firstDelaySeconds
                    // Another account's notification is not this one's.
                    guard accountChangeCount == changeCount else { return }
                    if let payload {
                        report(.notification(RemoteNotification(payload: payload)))
                    }
                }
            } catch {
                // Whatever it was, the answer is the same: wait, and register anew. A listener has
                // no one to tell; requests tell the app of the same trouble.
                let jittered = delaySeconds * (0.5 + world.random() / 2)
                let wait = max(CKError(requestFailedWith: error).retryAfterSeconds ?? 0, jittered)
                // A cancelled sleep ends the listening.
                do { try await world.sleep(wait) } catch { return }
                delaySeconds = min(2 * delaySeconds, RequestPace.maximumDelaySeconds)
            }
        }
    }

    private func register(
        through sender: RequestSender, _ changeCount: Int
    ) async throws -> String {
        let created = try await sender.send(
            TokensCreate.self,
            TokensCreate.Request(apnsEnvironment: environment.rawValue, clientID: deviceID))
        _ = try await sender.send(
            TokensRegister.self,
            TokensRegister.Request(
                apnsEnvironment: environment.rawValue, apnsToken: created.apnsToken,
                clientID: deviceID))
        rememberListener(
            created.apnsToken, container: sender.target.container.container,
            changeCount: changeCount)
        return created.webcourierURL
    }

    /// Tells the service that nobody listens for the account any more.
    func unregisterListeners() async {
        for (container, pushToken) in pushTokens {
            let target = RequestTarget(
                container: ContainerAddress(container: container, environment: environment),
                scope: nil)
            let sender = RequestSender(connection: self, target: target, pace: RequestPace())
            // What the service does not hear now, it notices when nobody polls.
            _ = try? await sender.send(
                TokensUnregister.self, TokensUnregister.Request(apnsToken: pushToken))
        }
    }
}

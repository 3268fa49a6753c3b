import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

extension CloudConnection {
    /// Seconds that one long poll may take; longer than the service holds it open.
    static let pollSeconds: Double = 90

    /// Seconds from one poll without a notification to the next, at least.
    static let shortestPollSeconds: Double = 1

    /// Listens for the notifications of a container until the stream's consumer ends or is
    /// cancelled.
    ///
    /// Registers the device, then polls, once for all listeners to the container on this
    /// connection; a later listener gets ``RemoteNotificationEvent/listening`` at once. After an
    /// error it waits (1 s, doubled at each failure, 60 s at most) and registers again. When the
    /// account changes it registers for the new one at once; without an account it waits for one.
    /// At most 100 events are kept for a slow consumer; the oldest are dropped, because
    /// notifications are hints and carry no data.
    ///
    /// ```swift
    /// for await case .notification(let hint) in connection.remoteNotifications(container: identifier) {
    ///     await fetch(hintedBy: CKNotification(fromRemoteNotificationDictionary: hint.userInfo))
    /// }
    /// ```
    public func remoteNotifications(container: String) -> AsyncStream<RemoteNotificationEvent> {
        events(of: container) { event in
            switch event {
            case .opened: .listening
            case .notification(let notification): .notification(notification)
            case .closed: nil
            }
        }
    }

    /// Like ``remoteNotifications(container:)``, but also reports interruptions of the channel.
    package func notificationChannel(container: String) -> AsyncStream<ChannelEvent> {
        events(of: container) { $0 }
    }

    private func events<Event: Sendable>(
        of container: String, _ event: @escaping @Sendable (ChannelEvent) -> Event?
    ) -> AsyncStream<Event> {
        AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
            let key = listeners.join(container) { received in
                guard let received else { return continuation.finish() }
                if let event = event(received) { continuation.yield(event) }
            } start: { number in
                world.startTask("notification listener") {
                    await self.listenForAccounts(container: container) {
                        self.listeners.report($0, by: number, of: container)
                    }
                    self.listeners.ended(number, of: container)
                }
            }
            continuation.onTermination = { _ in self.listeners.leave(key, of: container) }
        }
    }

    /// Listens for the current account, and for each that replaces it.
    private func listenForAccounts(
        container: String, report: @escaping @Sendable (ChannelEvent) -> Void
    ) async {
        while !Task.isCancelled {
            // A new stream each time, because a consumer that is cancelled while it waits ends its
            // stream.
            let (changes, changed) = AsyncStream.makeStream(of: Void.self)
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: self, queue: nil
            ) { _ in changed.yield() }
            defer { NotificationCenter.default.removeObserver(observer) }
            let changeCount = accountChangeCount
            let isChanged = await withTaskGroup(of: Bool.self) { group in
                if hasAccount, !isSessionEnding {
                    group.addTask {
                        await self.listen(container, changeCount, report)
                        report(.closed)
                        return self.isSessionEnding || self.accountChangeCount != changeCount
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

    /// Listens until the account changes or the task is cancelled.
    private func listen(
        _ container: String, _ changeCount: Int,
        _ report: @Sendable (ChannelEvent) -> Void
    ) async {
        let target = RequestTarget(
            container: ContainerAddress(container: container, environment: environment), scope: nil)
        let sender = RequestSender(connection: self, target: target, pace: RequestPace())
        var backoff = RequestPace.backoff
        while !Task.isCancelled {
            guard !isSessionEnding else { return }
            do {
                let address = try await register(through: sender, changeCount)
                guard accountChangeCount == changeCount else { return }
                report(.opened)
                while true {
                    // A cancelled poll ends without an error, as the next one would, so the loop
                    // would not end.
                    try Task.checkCancellation()
                    let begun = world.now
                    let payload = try await transport.nextNotification(
                        at: address, timeoutSeconds: Self.pollSeconds)
                    if payload == nil,
                        world.now.timeIntervalSince(begun) < Self.shortestPollSeconds
                    {
                        // The service did not hold the poll open; polling without a pause would
                        // load both sides.
                        try await world.sleep(Self.shortestPollSeconds)
                    }
                    backoff.reset()
                    // The account changed: the notification was for the former one.
                    guard accountChangeCount == changeCount else { return }
                    if let payload {
                        report(.notification(RemoteNotification(payload: payload)))
                    }
                }
            } catch {
                report(.closed)
                // After any error, wait and register again. A listener has no caller to report it
                // to; the app's own requests fail with the same error.
                let wait = max(
                    CKError(requestFailedWith: error).retryAfterSeconds ?? 0,
                    backoff.nextSeconds(random: world.random()))
                // A cancelled sleep ends the listening.
                do { try await world.sleep(wait) } catch { return }
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

    /// Tells the service that the account no longer has listeners.
    func unregisterListeners(pace: RequestPace) async {
        for (container, pushToken) in pushTokens {
            let target = RequestTarget(
                container: ContainerAddress(container: container, environment: environment),
                scope: nil)
            let sender = RequestSender(connection: self, target: target, pace: pace)
            // If this request fails, the service's registration ends when polling stops; until then
            // notifications are queued in vain.
            _ = try? await sender.send(
                TokensUnregister.self, TokensUnregister.Request(apnsToken: pushToken))
        }
    }
}

import Synchronization

extension CloudConnection {
    /// Seconds that an app has for one notification, as on Apple's platforms.
    public static let notificationLimitSeconds: Double = 30

    /// Passes every notification of a container to the app, one after the other, until the task is cancelled; the
    /// counterpart of `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)` on Apple's platforms.
    ///
    /// The app answers within 30 seconds. After that its task is cancelled, the answer counts as `failed`, and the next
    /// notification is delivered. Each answer is compared with what was fetched through this connection since the
    /// notification: an app that answers `newData` but fetched nothing, answers `noData` after a change feed brought
    /// something, or answers late, gets fewer notifications, with pauses of up to a minute in which several become one.
    /// `failed` in time is not penalized.
    ///
    /// ```swift
    /// await connection.deliverRemoteNotifications(container: "iCloud.org.example.Trails") { hint in
    ///     let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
    ///     do {
    ///         return try await store.fetch(hintedBy: notification) > 0 ? .newData : .noData
    ///     } catch {
    ///         return .failed
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - limitSeconds: the limit for one notification, 30 or less.
    ///   - whenListening: called when the device is registered, and again after an interruption:
    ///     earlier notifications may have been missed, so fetch once.
    ///   - report: called with each answer, for a log.
    ///   - receive: does the work.
    ///   - container: the identifier of the container.
    public func deliverRemoteNotifications(
        container: String, limitSeconds: Double = notificationLimitSeconds,
        whenListening: (@Sendable () async -> Void)? = nil,
        report: (@Sendable (RemoteNotificationReport) -> Void)? = nil,
        to receive: @escaping @Sendable (RemoteNotification) async -> RemoteNotificationResult
    ) async {
        await deliver(container, limitSeconds, whenListening, report) { notification, answer in
            let task = self.world.startTask("notification") {
                answer(await receive(notification))
            }
            return { task.cancel() }
        }
    }

    /// Delivers notifications to an app that answers through a completion handler. A handler that
    /// is never called counts as `failed` after the limit.
    public func deliverRemoteNotifications(
        container: String, limitSeconds: Double = notificationLimitSeconds,
        whenListening: (@Sendable () async -> Void)? = nil,
        report: (@Sendable (RemoteNotificationReport) -> Void)? = nil,
        didReceiveRemoteNotification receive:
            @escaping @Sendable (
                _ userInfo: [AnyHashable: Any],
                _ fetchCompletionHandler: @escaping @Sendable (RemoteNotificationResult) -> Void
            ) -> Void
    ) async {
        await deliver(container, limitSeconds, whenListening, report) { notification, answer in
            receive(notification.userInfo, answer)
            return {}
        }
    }

    /// Begins the app's work on a notification; returns how to cancel it.
    private typealias Receiver =
        @Sendable (
            RemoteNotification, @escaping @Sendable (RemoteNotificationResult) -> Void
        ) -> @Sendable () -> Void

    private func deliver(
        _ container: String, _ limitSeconds: Double, _ whenListening: (@Sendable () async -> Void)?,
        _ report: (@Sendable (RemoteNotificationReport) -> Void)?, _ receive: @escaping Receiver
    ) async {
        var budget = NotificationBudget()
        let inbox = NotificationInbox()
        let events = remoteNotifications(container: container)
        let reader = world.startTask("notification inbox") {
            for await event in events { inbox.put(event) }
            inbox.close()
        }
        await withTaskCancellationHandler {
            while let event = await inbox.next() {
                switch event {
                case .listening: await whenListening?()
                case .notification(let notification):
                    let outcome = await hand(notification, limitSeconds, receive)
                    budget.answered(isGood: outcome.isInTime && outcome.isTruthful)
                    report?(outcome)
                    guard budget.pauseSeconds > 0 else { continue }
                    // Only cancellation cuts the pause short, and then the inbox is closed.
                    try? await world.sleep(budget.pauseSeconds)
                }
            }
        } onCancel: {
            reader.cancel()
            inbox.close()
        }
    }

    private func hand(
        _ notification: RemoteNotification, _ limitSeconds: Double, _ receive: Receiver
    ) async -> RemoteNotificationReport {
        let begun = world.uptimeSeconds()
        let (fetched, changed) = (fetchedItemCount, changedItemCount)
        let answer = FirstAnswer()
        let cancel = receive(notification) { answer.give($0) }
        let timer = world.startTask("notification limit") { [world] in
            // The sleep is cancelled when the app has answered; then no exceeded time limit is reported.
            guard (try? await world.sleep(limitSeconds)) != nil else { return }
            answer.give(nil)
        }
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            answer.give(nil)
        }
        timer.cancel()
        if result == nil { cancel() }
        let isTruthful =
            switch result {
            case .newData: fetchedItemCount > fetched
            case .noData: changedItemCount == changed
            case .failed, nil: true
            }
        return RemoteNotificationReport(
            notification: notification, result: result ?? .failed,
            seconds: world.uptimeSeconds() - begun, isInTime: result != nil,
            isTruthful: isTruthful)
    }
}

/// The first of several answers.
private final class FirstAnswer: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<RemoteNotificationResult?, Never>)
        case given(RemoteNotificationResult?)
    }

    private let state = Mutex(State.open)

    /// - Parameter result: nil if there was none in time.
    func give(_ result: RemoteNotificationResult?) {
        let waiter = state.withLock {
            state -> CheckedContinuation<RemoteNotificationResult?, Never>? in
            switch state {
            case .open:
                state = .given(result)
                return nil
            case .waiting(let continuation):
                state = .given(result)
                return continuation
            case .given: return nil
            }
        }
        waiter?.resume(returning: result)
    }

    func wait() async -> RemoteNotificationResult? {
        await withCheckedContinuation { continuation in
            let given = state.withLock { state -> RemoteNotificationResult?? in
                if case .given(let result) = state { return .some(result) }
                state = .waiting(continuation)
                return nil
            }
            if let given { continuation.resume(returning: given) }
        }
    }
}

/// The notifications that wait for the app: the latest of each subscription.
final class NotificationInbox: Sendable {
    /// How many notifications wait at most; the oldest are dropped.
    static let capacity = 100

    private struct State {
        var isListening = false
        var waiting: [RemoteNotification] = []
        var isClosed = false
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func put(_ event: RemoteNotificationEvent) {
        let reader = state.withLock { state in
            switch event {
            case .listening: state.isListening = true
            case .notification(let notification):
                state.waiting.removeAll { $0.subscriptionID == notification.subscriptionID }
                state.waiting.append(notification)
                if state.waiting.count > Self.capacity { state.waiting.removeFirst() }
            }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    func close() {
        let reader = state.withLock { state in
            state.isClosed = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// The next event; nil when the inbox is closed. For one reader.
    func next() async -> RemoteNotificationEvent? {
        while true {
            let (event, isClosed) = state.withLock { state -> (RemoteNotificationEvent?, Bool) in
                if state.isClosed { return (nil, true) }
                if state.isListening {
                    state.isListening = false
                    return (.listening, false)
                }
                guard !state.waiting.isEmpty else { return (nil, false) }
                return (.notification(state.waiting.removeFirst()), false)
            }
            if isClosed { return nil }
            if let event { return event }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isClosed || state.isListening || !state.waiting.isEmpty { return true }
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }
}

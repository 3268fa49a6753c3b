import StratusRecords
import StratusRuntime
import StratusWire

/// The queues of notifications, one per push token, and the polls that wait at them.
///
/// Invariants: no poll waits at a queue that holds something; a notification is in a queue or was given to one poll,
/// never both, and is never lost to a poll that had ended.
///
/// A device that answers slowly or wrongly gets fewer notifications: when its queue overflows, or when it does not take
/// what it polled for, the queue's room is halved, down to one; after ``StratusRecords/Limits/idleDeviceSeconds``
/// without a poll the room is one. A poll that finds the queue empty restores the room.
actor Courier {
    private struct Mailbox {
        var queue: [NotificationPayload] = []
        /// The newest last.
        var waiters: [Waiter] = []
        var room: Int
        var lastPollMilliseconds: Int64
    }

    private struct Waiter {
        var poll: UInt64
        var sinceMilliseconds: Int64
        var continuation: CheckedContinuation<NotificationPayload?, Never>
    }

    private let limits: Limits
    private let world: World
    private var mailboxes: [String: Mailbox] = [:]
    private var lastPoll: UInt64 = 0
    private var lastSweepMilliseconds: Int64 = 0

    init(limits: Limits, world: World) {
        self.limits = limits
        self.world = world
    }

    // MARK: Delivery

    func deliver(_ deliveries: [Delivery]) {
        for delivery in deliveries {
            deliver(
                delivery.payload, to: delivery.device.pushToken,
                isRepeated: delivery.isRepeated)
        }
    }

    /// Gives a notification to the newest of the waiting polls, or queues it. It replaces an unread notification about
    /// the same subject, unless it is repeated on purpose; when the queue is full, the oldest are dropped.
    func deliver(
        _ notification: NotificationPayload, to pushToken: String, isRepeated: Bool = false
    ) {
        if let waiter = mailboxes[pushToken]?.waiters.popLast() {
            waiter.continuation.resume(returning: notification)
            return
        }
        guard var mailbox = mailboxes[pushToken] ?? newMailbox() else { return }
        mailboxes[pushToken] = nil
        let same = mailbox.queue.firstIndex { $0.subject == notification.subject }
        if let index = same, !isRepeated {
            mailbox.queue[index] = notification
        } else {
            mailbox.queue.append(notification)
        }
        if mailbox.queue.count > mailbox.room {
            mailbox.room = max(1, mailbox.room / 2)
            mailbox.queue.removeFirst(mailbox.queue.count - mailbox.room)
        }
        if isIdle(mailbox) {
            mailbox.room = 1
            mailbox.queue.removeFirst(mailbox.queue.count - 1)
        }
        mailboxes[pushToken] = mailbox
    }

    /// Puts a notification back that its receiver did not take.
    func giveBack(_ notification: NotificationPayload, to pushToken: String) {
        guard var mailbox = mailboxes[pushToken] ?? newMailbox() else { return }
        if !mailbox.waiters.isEmpty { return deliver(notification, to: pushToken) }
        mailbox.room = max(1, mailbox.room / 2)
        let isQueued = mailbox.queue.contains { $0.subject == notification.subject }
        if !isQueued, mailbox.queue.count < mailbox.room {
            mailbox.queue.insert(notification, at: 0)
        }
        mailboxes[pushToken] = mailbox
    }

    private func isIdle(_ mailbox: Mailbox) -> Bool {
        Double(world.nowMilliseconds() - mailbox.lastPollMilliseconds)
            >= limits.idleDeviceSeconds * 1_000
    }

    /// An empty queue; nil when there are as many as may be, and none can be removed.
    private func newMailbox() -> Mailbox? {
        let now = world.nowMilliseconds()
        if mailboxes.count >= limits.waitingDevices {
            // Searching all of them for every notification would cost more than it frees.
            guard Double(now - lastSweepMilliseconds) >= 1_000 else { return nil }
            lastSweepMilliseconds = now
            mailboxes = mailboxes.filter { !$0.value.waiters.isEmpty || !isIdle($0.value) }
            guard mailboxes.count < limits.waitingDevices else { return nil }
        }
        return Mailbox(room: limits.notificationsPerDevice, lastPollMilliseconds: now)
    }

    // MARK: Polls

    /// The next notification; nil after the timeout, when newer polls replaced this one, or when the task was
    /// cancelled.
    ///
    /// - Throws: ``StratusRecords/ServiceError`` when too many polls wait and none has waited for long: they would only
    ///   end one another.
    func next(
        pushToken: String, timeoutSeconds: Double
    ) async throws(ServiceError) -> NotificationPayload? {
        if Task.isCancelled { return nil }
        if let notification = takeFirst(of: pushToken) { return notification }
        guard timeoutSeconds > 0 else { return nil }
        try makeRoom(at: pushToken)
        lastPoll += 1
        let poll = lastPoll
        // Not a race of two tasks, in which a notification could be lost to the slower one: here the actor decides
        // which comes first.
        let alarm = world.startTask("poll timeout") { [world] in
            do {
                try await world.sleep(timeoutSeconds)
            } catch {
                // The sleep was cancelled because the poll has ended: no timeout is due.
                return
            }
            await self.end(poll, at: pushToken)
        }
        defer { alarm.cancel() }
        let notification = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(poll, at: pushToken, continuation)
            }
        } onCancel: {
            _ = world.startTask("poll end") { await self.end(poll, at: pushToken) }
        }
        if let notification, Task.isCancelled {
            giveBack(notification, to: pushToken)
            return nil
        }
        return notification
    }

    /// Drops a queue whose device is gone.
    func forget(pushToken: String) {
        for waiter in mailboxes.removeValue(forKey: pushToken)?.waiters ?? [] {
            waiter.continuation.resume(returning: nil)
        }
    }

    /// How many polls wait now.
    var waiting: Int {
        mailboxes.values.reduce(0) { $0 + $1.waiters.count }
    }

    /// How many devices are remembered.
    var remembered: Int { mailboxes.count }

    private func takeFirst(of pushToken: String) -> NotificationPayload? {
        guard mailboxes[pushToken] != nil else { return nil }
        mailboxes[pushToken]?.lastPollMilliseconds = world.nowMilliseconds()
        guard mailboxes[pushToken]?.queue.isEmpty == false else {
            mailboxes[pushToken]?.room = limits.notificationsPerDevice
            return nil
        }
        return mailboxes[pushToken]?.queue.removeFirst()
    }

    /// Ends the poll that has waited longest when too many wait.
    private func makeRoom(at pushToken: String) throws(ServiceError) {
        guard let oldest = mailboxes[pushToken]?.waiters.first,
            mailboxes[pushToken]?.waiters.count ?? 0 >= limits.pollsPerDevice
        else { return }
        let waited = Double(world.nowMilliseconds() - oldest.sinceMilliseconds)
        guard waited >= limits.protectedPollSeconds * 1_000 else {
            throw ServiceError.tooManyPolls(limit: limits.pollsPerDevice)
        }
        end(oldest.poll, at: pushToken)
    }

    private func wait(
        _ poll: UInt64, at pushToken: String,
        _ continuation: CheckedContinuation<NotificationPayload?, Never>
    ) {
        let now = world.nowMilliseconds()
        guard !Task.isCancelled, var mailbox = mailboxes[pushToken] ?? newMailbox() else {
            return continuation.resume(returning: nil)
        }
        mailbox.lastPollMilliseconds = now
        mailbox.waiters.append(
            Waiter(poll: poll, sinceMilliseconds: now, continuation: continuation))
        mailboxes[pushToken] = mailbox
    }

    private func end(_ poll: UInt64, at pushToken: String) {
        guard
            let index = mailboxes[pushToken]?.waiters.firstIndex(where: { $0.poll == poll }),
            let waiter = mailboxes[pushToken]?.waiters.remove(at: index)
        else { return }
        waiter.continuation.resume(returning: nil)
        guard let mailbox = mailboxes[pushToken] else { return }
        if mailbox.queue.isEmpty, mailbox.waiters.isEmpty { mailboxes[pushToken] = nil }
    }
}

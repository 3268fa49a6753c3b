import StratusWire

/// The queues of notifications, one per push token, and who waits at them.
///
/// Invariants: nobody waits at a queue that holds something; a notification is in a queue or was
/// handed to one waiter, never both and never lost to a waiter who had gone.
actor Courier {
    private struct Mailbox {
        var queue: [NotificationPayload] = []
        var waiter: Waiter?
    }

    private struct Waiter {
        var poll: UInt64
        var continuation: CheckedContinuation<NotificationPayload?, Never>
    }

    private let capacityPerDevice: Int
    private let sleep: @Sendable (Double) async throws -> Void
    private var mailboxes: [String: Mailbox] = [:]
    private var lastPoll: UInt64 = 0

    init(capacityPerDevice: Int, sleep: @escaping @Sendable (Double) async throws -> Void) {
        self.capacityPerDevice = capacityPerDevice
        self.sleep = sleep
    }

    /// Hands a notification to whoever waits, or queues it. An unread notification of the same zone or
    /// database subscription becomes this one; the oldest gives way when the queue is full.
    func deliver(_ notification: NotificationPayload, to pushToken: String) {
        if let waiter = mailboxes[pushToken]?.waiter {
            mailboxes[pushToken]?.waiter = nil
            waiter.continuation.resume(returning: notification)
            return
        }
        var queue = mailboxes[pushToken]?.queue ?? []
        if let index = queue.firstIndex(where: { notification.replaces($0) }) {
            queue[index] = notification
        } else {
            if queue.count >= capacityPerDevice { queue.removeFirst() }
            queue.append(notification)
        }
        mailboxes[pushToken, default: Mailbox()].queue = queue
    }

    /// Puts a notification back that its receiver did not take.
    func giveBack(_ notification: NotificationPayload, to pushToken: String) {
        if mailboxes[pushToken]?.waiter != nil {
            return deliver(notification, to: pushToken)
        }
        let queue = mailboxes[pushToken]?.queue ?? []
        let isTold = queue.contains { $0.replaces(notification) }
        guard !isTold, queue.count < capacityPerDevice else { return }
        mailboxes[pushToken, default: Mailbox()].queue.insert(notification, at: 0)
    }

    /// The next notification; nil after the timeout, when a newer poll came, or when the task was
    /// cancelled.
    func next(pushToken: String, timeoutSeconds: Double) async -> NotificationPayload? {
        if Task.isCancelled { return nil }
        if mailboxes[pushToken]?.queue.isEmpty == false {
            return mailboxes[pushToken]?.queue.removeFirst()
        }
        guard timeoutSeconds > 0 else { return nil }
        lastPoll += 1
        let poll = lastPoll
        let alarm = Task {
            do {
                try await sleep(timeoutSeconds)
            } catch {
                // The sleep was cancelled because the poll has ended.
                return
            }
            end(poll, at: pushToken)
        }
        defer { alarm.cancel() }
        let notification = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(poll, at: pushToken, continuation)
            }
        } onCancel: {
            Task { await end(poll, at: pushToken) }
        }
        if let notification, Task.isCancelled {
            giveBack(notification, to: pushToken)
            return nil
        }
        return notification
    }

    /// Drops a queue whose device is gone.
    func forget(pushToken: String) {
        mailboxes.removeValue(forKey: pushToken)?.waiter?.continuation.resume(returning: nil)
    }

    /// How many polls wait now.
    var waiting: Int {
        mailboxes.values.count { $0.waiter != nil }
    }

    private func wait(
        _ poll: UInt64, at pushToken: String,
        _ continuation: CheckedContinuation<NotificationPayload?, Never>
    ) {
        if Task.isCancelled {
            return continuation.resume(returning: nil)
        }
        mailboxes[pushToken]?.waiter?.continuation.resume(returning: nil)
        mailboxes[pushToken, default: Mailbox()].waiter = Waiter(
            poll: poll, continuation: continuation)
    }

    private func end(_ poll: UInt64, at pushToken: String) {
        guard let waiter = mailboxes[pushToken]?.waiter, waiter.poll == poll else { return }
        mailboxes[pushToken]?.waiter = nil
        waiter.continuation.resume(returning: nil)
        if mailboxes[pushToken]?.queue.isEmpty == true {
            mailboxes[pushToken] = nil
        }
    }
}

extension NotificationPayload {
    /// Whether an older unread notification says nothing that this one does not say.
    fileprivate func replaces(_ older: NotificationPayload) -> Bool {
        if case .query = cause { return false }
        return subscriptionID == older.subscriptionID && scope == older.scope
            && containerIdentifier == older.containerIdentifier
            && userRecordName == older.userRecordName && cause == older.cause
    }
}

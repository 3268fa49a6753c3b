import StratusRecords
import Synchronization

/// The archives that are being made, one per account at a time: each reads all that its user has and created, and
/// searches public databases for it.
final class ArchiveTurns: Sendable {
    private let users = Mutex<Set<String>>([])

    /// - Returns: nil while another archive of the user is being made.
    func begin(_ userRecordName: String, paidBy sender: Throttle.Sender) -> ArchiveTurn? {
        guard users.withLock({ $0.insert(userRecordName).inserted }) else { return nil }
        return ArchiveTurn(sender: sender) { [self] in
            users.withLock { _ = $0.remove(userRecordName) }
        }
    }
}

/// Permission to make an account's archive. It ends at the latest when nothing refers to it any more, so also when the
/// client stops reading the answer.
package final class ArchiveTurn: Sendable {
    let sender: Throttle.Sender
    private let whenEnded: Mutex<(@Sendable () -> Void)?>

    fileprivate init(sender: Throttle.Sender, whenEnded: @escaping @Sendable () -> Void) {
        self.sender = sender
        self.whenEnded = Mutex(whenEnded)
    }

    deinit { end() }

    func end() {
        let whenEnded = whenEnded.withLock { whenEnded in
            defer { whenEnded = nil }
            return whenEnded
        }
        whenEnded?()
    }
}

import Dispatch
import StratusRecords

/// Hashes passwords, a few at a time, so that many sign-ins take neither the memory nor the threads of other requests.
/// Those that wait take turns, one of each network address after the other; when the queue is full, further ones are
/// refused.
final class PasswordQueue: Sendable {
    private let line: RequestQueue
    private let threads = DispatchQueue(label: "stratus.password", attributes: .concurrent)
    private let memory: MemoryBudget

    init(limits: Limits, memory: MemoryBudget) {
        var ofPasswords = limits
        ofPasswords.requestsInWork = limits.passwordsAtOnce
        ofPasswords.requestsInWorkPerUser = limits.passwordsAtOnce
        ofPasswords.waitingRequests = limits.waitingPasswords
        ofPasswords.waitingRequestsPerUser = limits.waitingPasswordsPerAddress
        line = RequestQueue(limits: ofPasswords)
        self.memory = memory
    }

    /// How many hashes wait for their turn.
    var waiting: Int { line.waiting }

    /// - Parameter cost: of the hash that the work makes.
    /// - Throws: ``SignInRefusal/busy`` when too many wait.
    func run<Outcome: Sendable>(
        from networkAddress: String, cost: PasswordHash.Cost,
        _ work: @escaping @Sendable () throws -> Outcome
    ) async throws -> Outcome {
        do {
            return try await line.run(as: .address(networkAddress)) {
                let held = HeldMemory(memory, networkAddress: networkAddress)
                held.take(cost.bytes)
                return try await withCheckedThrowingContinuation { continuation in
                    threads.async { continuation.resume(with: Result { try work() }) }
                }
            }
        } catch let error as ServiceError where error.code == .tryAgainLater {
            // The same refusal, in the words of the sign-in page.
            throw SignInRefusal.busy
        }
    }
}

import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// What shall go wrong: tests write it, the service plays it.
///
/// Each request meets the first fault of the script that fits it, and takes one of its times; each
/// notification the first that is about notifications. An empty script costs a request one look.
public final class FaultScript: Sendable {
    /// Faults that a script can have.
    public static let capacity = 1_000

    private let script = Mutex<[Fault]>([])

    init() {}

    /// Adds faults to the end.
    ///
    /// - Throws: ``RequestFailure`` with BAD_REQUEST when the script would have more than 1,000.
    public func add(_ faults: [Fault]) throws(RequestFailure) {
        let hasRoom = script.withLock { script in
            guard script.count + faults.count <= Self.capacity else { return false }
            script += faults.filter { $0.times > 0 }
            return true
        }
        guard hasRoom else {
            throw RequestFailure(
                .overLimit("A fault script has at most 1,000 faults; clear it first."))
        }
    }

    /// What is still to happen.
    public var remaining: [Fault] { script.withLock { $0 } }

    public func clear() {
        script.withLock { $0 = [] }
    }

    /// The effect for a request; nil when nothing shall go wrong.
    func take<E: ServedEndpoint>(
        for endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) -> (effect: Fault.Effect, zoneName: String?)? {
        script.withLock { script in
            guard !script.isEmpty else { return nil }
            let zoneNames = E.zoneNames(in: request)
            let index = script.firstIndex { fault in
                guard !fault.effect.isAboutNotifications,
                    fault.operation ?? E.path == E.path,
                    fault.container ?? context.address.container == context.address.container
                else { return false }
                if let user = fault.userRecordName, user != context.caller.userRecordName {
                    return false
                }
                if let zoneName = fault.zoneName, !fault.effect.resetsZone {
                    return zoneNames.contains(zoneName)
                }
                return true
            }
            guard let index else { return nil }
            let fault = script[index]
            Self.takeOne(at: index, of: &script)
            return (fault.effect, fault.zoneName)
        }
    }

    /// How often a notification is delivered.
    func deliveries(to user: String, in address: ContainerAddress) -> Int {
        script.withLock { script in
            let index = script.firstIndex { fault in
                fault.effect.isAboutNotifications && fault.userRecordName ?? user == user
                    && fault.container ?? address.container == address.container
            }
            guard let index else { return 1 }
            let effect = script[index].effect
            Self.takeOne(at: index, of: &script)
            return effect == .dropNotification ? 0 : 2
        }
    }

    private static func takeOne(at index: Int, of script: inout [Fault]) {
        script[index].times -= 1
        if script[index].times <= 0 { script.remove(at: index) }
    }
}

extension Fault.Effect {
    fileprivate var isAboutNotifications: Bool {
        self == .dropNotification || self == .duplicateNotification
    }

    fileprivate var resetsZone: Bool {
        if case .resetZone = self { true } else { false }
    }
}

extension ServiceError {
    /// Not an answer: the transport must close the connection without one. Never sent.
    public static let connectionDropped = ServiceError(
        Code(rawValue: "CONNECTION_DROPPED"), "The fault script dropped the connection.")
}

extension CloudService {
    /// Answers a request as the fault script has it: as always, when it has nothing.
    func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) async throws -> E.Answer {
        guard let fault = faults.take(for: E.self, request, in: context) else {
            return try await E.answer(request, in: context)
        }
        switch fault.effect {
        case .answer(let error): throw error
        case .delay(let seconds): try await settings.sleep(seconds)
        case .dropBeforeCommit: throw ServiceError.connectionDropped
        case .dropAfterCommit:
            _ = try await E.answer(request, in: context)
            throw ServiceError.connectionDropped
        case .expireChangeTokens: return try await E.answerToExpired(request, in: context)
        case .resetZone(let reason):
            try await resetZone(fault.zoneName ?? "", reason: reason, in: context)
        case .dropNotification, .duplicateNotification: break
        }
        return try await E.answer(request, in: context)
    }

    private func resetZone(
        _ name: String, reason: Fault.ZoneResetReason, in context: RequestContext
    ) async throws {
        let deletion: ZoneRow.Deletion =
            switch reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
        guard name != ZoneID.defaultZoneName else { return }
        try await removeZone(
            named: name, of: try context.user(), at: context.address, reason: deletion)
    }
}

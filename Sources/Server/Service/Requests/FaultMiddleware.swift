import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Wraps the answering of every request in a service for development, and injects the faults of the fault script.
struct FaultMiddleware: Sendable {
    let script: FaultScript
    let world: World
    let zones: ZoneRemoval

    /// Answers a request, with the fault that the script has for it, if any.
    func answer<E: ServedEndpoint>(_ call: EndpointCall<E>) async throws -> E.Answer {
        var call = call
        if let fault = script.take(for: E.self, call.request, in: call.context) {
            switch fault.effect {
            case .answer(let error): throw error
            case .delay(let seconds):
                try await world.sleep(seconds)
                call.context.nowMilliseconds = world.nowMilliseconds()
            case .dropBeforeCommit: throw Self.connectionDropped
            case .dropAfterCommit:
                _ = try await E.answer(call)
                throw Self.connectionDropped
            case .expireChangeTokens: call.context.limits.changeTokenSeconds = -1
            case .resetZone(let reason):
                try await resetZone(fault.zoneName ?? "", reason: reason, in: call.context)
            case .dropNotification, .duplicateNotification: break
            }
        }
        return try await E.answer(call)
    }

    private static let connectionDropped = ServiceError(
        .connectionDropped, "The fault script dropped the connection.")

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
        _ = try await zones.remove(
            named: name, of: context.user(), at: context.address, reason: deletion)
    }
}

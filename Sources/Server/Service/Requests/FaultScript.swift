import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// The faults to inject: tests write the script, and a service for development follows it (``FaultMiddleware``).
///
/// Each request takes the first fault that matches it, and uses up one of its times; each notification takes the
/// first fault that is about notifications. With an empty script a request costs one check.
package final class FaultScript: Sendable {
    /// The most faults that a script can have.
    package static let capacity = 1_000

    private let script = Mutex<[Fault]>([])

    init() {}

    /// Adds faults to the end.
    ///
    /// - Throws: `RequestFailure` with BAD_REQUEST when the script would have more than 1,000.
    package func add(_ faults: [Fault]) throws(RequestFailure) {
        let hasRoom = script.withLock { script in
            guard script.count + faults.count <= Self.capacity else { return false }
            script += faults.filter { $0.times > 0 }
            return true
        }
        guard hasRoom else {
            throw RequestFailure(
                .overLimit(
                    "The fault script would have more than \(Self.capacity) faults; clear it first."
                ))
        }
    }

    /// The faults that are left.
    package var remaining: [Fault] { script.withLock { $0 } }

    package func clear() {
        script.withLock { $0 = [] }
    }

    /// The effect for a request; nil when no fault matches.
    func take<E: ServedEndpoint>(
        for endpoint: E.Type, _ request: E.Request, in context: RequestContext
    ) -> (effect: Fault.Effect, zoneName: String?)? {
        script.withLock { script in
            guard !script.isEmpty else { return nil }
            let zoneNames = E.rules.zones(request)
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

    /// The notifications to deliver: some are dropped, some repeated.
    func applied(to deliveries: [Delivery]) -> [Delivery] {
        deliveries.flatMap { delivery in
            let times = times(of: delivery)
            var repeated = delivery
            repeated.isRepeated = true
            return (0..<times).map { $0 == 0 ? delivery : repeated }
        }
    }

    private func times(of delivery: Delivery) -> Int {
        let device = delivery.device
        return script.withLock { script in
            let index = script.firstIndex { fault in
                fault.effect.isAboutNotifications
                    && fault.userRecordName ?? device.userRecordName == device.userRecordName
                    && fault.container ?? device.address.container == device.address.container
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

extension ServiceError.Code {
    /// Not an answer: the transport must close the connection without one. Never sent to a client.
    package static let connectionDropped = Self(rawValue: "CONNECTION_DROPPED")
}

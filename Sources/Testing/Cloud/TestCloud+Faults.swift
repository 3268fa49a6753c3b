import StratusRecords
import StratusService
import StratusWire

extension TestCloud {
    /// The faults to inject into this cloud, which needs development settings.
    public var faults: CloudFaults {
        guard let script = service.faults else {
            preconditionFailure(
                "The TestCloud's settings are not for development, so it has no faults; set"
                    + " isForDevelopment.")
        }
        return CloudFaults(script: script)
    }
}

/// The fault script of a test's cloud: makes the next requests fail, arrive late, lose their
/// connection, or have expired change tokens.
///
/// ```swift
/// let cloud = TestCloud()
/// cloud.faults.next(2, of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 3))
/// cloud.faults.next(of: ChangesZone.self, inZone: "Trips", .expireChangeTokens)
/// cloud.faults.resetZone("Trips", reason: .purged)
/// ```
///
/// A request gets the first fault that matches it; the others wait for later requests.
/// ``remaining`` is empty when all have happened: check that at a test's end.
public struct CloudFaults: Sendable {
    let script: FaultScript

    /// What happens to a request.
    public struct Effect: Sendable {
        fileprivate let effect: Fault.Effect

        /// The request is not served; its answer is an error.
        ///
        /// - Parameters:
        ///   - code: The protocol's code, from which `CKError` follows as for the service's own errors.
        ///   - retryAfterSeconds: When the client may retry, in seconds.
        ///   - frameworkCode: The `CKError.Code` where the protocol's code is not enough, such as
        ///     `limitExceeded`.
        public static func answer(
            _ code: ServiceError.Code, retryAfterSeconds: Double? = nil,
            frameworkCode: FrameworkErrorCode? = nil
        ) -> Effect {
            Effect(
                effect: .answer(
                    ServiceError(
                        code, "The test scripted this failure (\(code.rawValue)).",
                        retryAfterSeconds: retryAfterSeconds,
                        frameworkCode: frameworkCode)))
        }

        /// The request is served after a time, in seconds of the service's world.
        public static func delay(seconds: Double) -> Effect {
            Effect(effect: .delay(seconds: seconds))
        }

        /// The request is not served, and its connection is lost.
        public static let dropConnectionBeforeCommit = Effect(effect: .dropBeforeCommit)
        /// The request is served, and its connection is lost before the answer.
        public static let dropConnectionAfterCommit = Effect(effect: .dropAfterCommit)
        /// Every change token in the request has expired.
        public static let expireChangeTokens = Effect(effect: .expireChangeTokens)
    }

    /// Adds a fault to the next requests to an endpoint.
    ///
    /// - Parameters:
    ///   - times: How many requests.
    ///   - endpoint: Such as `RecordsModify.self`.
    ///   - userRecordName: Only this user's requests.
    ///   - zoneName: Only requests that name this zone.
    ///   - container: Only requests to the container of this identifier.
    ///   - effect: What happens to them.
    public func next(
        _ times: Int = 1, of endpoint: any Endpoint.Type, by userRecordName: String? = nil,
        inZone zoneName: String? = nil, container: String? = nil, _ effect: Effect
    ) {
        add(
            Fault(
                effect.effect, times: times, operation: endpoint.path,
                userRecordName: userRecordName, zoneName: zoneName, container: container))
    }

    /// Adds a fault to the next requests to any endpoint.
    public func nextRequests(
        _ times: Int = 1, by userRecordName: String? = nil, container: String? = nil,
        _ effect: Effect
    ) {
        add(
            Fault(
                effect.effect, times: times, userRecordName: userRecordName, container: container))
    }

    /// The zone is deleted in its owner's private database just before the next request of the owner
    /// is served.
    ///
    /// - Parameter endpoint: Waits for a request to it; nil takes the next one.
    /// - Parameter reason: The reason that devices get.
    /// - Parameter userRecordName: The zone's owner; nil means the user of the next request.
    /// - Parameter zoneName: The zone's name.
    public func resetZone(
        _ zoneName: String, reason: Fault.ZoneResetReason, by userRecordName: String? = nil,
        beforeNext endpoint: (any Endpoint.Type)? = nil
    ) {
        add(
            Fault(
                .resetZone(reason), operation: endpoint?.path, userRecordName: userRecordName,
                zoneName: zoneName))
    }

    /// Drops the next notifications.
    public func dropNotifications(_ times: Int, to userRecordName: String? = nil) {
        add(Fault(.dropNotification, times: times, userRecordName: userRecordName))
    }

    /// Delivers the next notifications twice.
    public func duplicateNotifications(_ times: Int, to userRecordName: String? = nil) {
        add(Fault(.duplicateNotification, times: times, userRecordName: userRecordName))
    }

    /// The faults that have not happened yet.
    public var remaining: [Fault] { script.remaining }

    /// Removes the faults that have not happened yet.
    public func clear() {
        script.clear()
    }

    private func add(_ fault: Fault) {
        do {
            try script.add([fault])
        } catch {
            preconditionFailure("A fault script has at most 1,000 faults; clear it first.")
        }
    }
}

import StratusClient
import StratusRecords
import StratusRuntime
import StratusWire
import Synchronization

extension TestCloud {
    /// The faults of one device's connection to this cloud, for any user.
    ///
    /// - Parameter device: as in ``connect(user:device:world:keyStore:)``.
    public func faults(on device: String) -> DeviceFaults {
        DeviceFaults(device: device, script: deviceScript)
    }
}

/// The faults of one device's connection to a test's cloud: its next requests fail, are delayed or
/// lose their answer, its notifications are lost or delivered twice, or it has no network, while
/// other devices of the same user are not affected.
///
/// ```swift
/// cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
/// cloud.faults(on: "tablet").isCutOff = true
/// ```
///
/// A request gets the first fault that matches it. ``CloudFaults`` has the faults of the service
/// itself, such as expired tokens.
public struct DeviceFaults: Sendable {
    let device: String
    let script: DeviceScript

    /// What happens to a request.
    public enum Effect: Hashable, Sendable {
        /// The request is not served; its answer is an error.
        case answer(
            ServiceError.Code, retryAfterSeconds: Double? = nil,
            frameworkCode: FrameworkErrorCode? = nil)
        /// The request is served after a time, in seconds of the service's world.
        case delay(seconds: Double)
        /// The request is not served, and its connection is lost.
        case dropConnectionBeforeCommit
        /// The request is served, and its connection is lost before the answer.
        case dropConnectionAfterCommit
    }

    /// Whether the device has no network: no requests, files of assets or notifications arrive.
    public var isCutOff: Bool {
        get { script.state.withLock { $0[device]?.isCutOff ?? false } }
        nonmutating set { script.change(device) { $0.isCutOff = newValue } }
    }

    /// Adds a fault to the device's next requests to an endpoint.
    ///
    /// - Parameters:
    ///   - times: how many requests.
    ///   - endpoint: such as `RecordsModify.self`.
    ///   - effect: what happens to them.
    public func next(_ times: Int = 1, of endpoint: any Endpoint.Type, _ effect: Effect) {
        add((endpoint.path, effect, times))
    }

    /// Adds a fault to the device's next requests to any endpoint.
    public func nextRequests(_ times: Int = 1, _ effect: Effect) {
        add((nil, effect, times))
    }

    private func add(_ fault: DeviceScript.Fault) {
        // As the faults of the service: one that happens no times is none.
        guard fault.times > 0 else { return }
        script.change(device) { $0.faults.append(fault) }
    }

    /// Drops the next notifications.
    public func dropNotifications(_ times: Int) {
        script.change(device) { $0.notificationTimes += Array(repeating: 0, count: times) }
    }

    /// Delivers the next notifications twice.
    public func duplicateNotifications(_ times: Int) {
        script.change(device) { $0.notificationTimes += Array(repeating: 2, count: times) }
    }

    /// Whether all faults have happened.
    public var isEmpty: Bool {
        script.state.withLock { state in
            state[device].map { $0.faults.isEmpty && $0.notificationTimes.isEmpty } ?? true
        }
    }
}

/// The faults of the connections of a cloud's devices.
final class DeviceScript: Sendable {
    typealias Fault = (path: String?, effect: DeviceFaults.Effect, times: Int)

    struct Way {
        var isCutOff = false
        var faults: [Fault] = []
        /// How often each of the next notifications comes.
        var notificationTimes: [Int] = []
        var repeated: NotificationPayload?
    }

    fileprivate let state = Mutex<[String: Way]>([:])

    fileprivate func change(_ device: String, _ body: (inout Way) -> Void) {
        state.withLock { body(&$0[device, default: Way()]) }
    }

    /// Sends a request, subject to the faults.
    func send<Answer>(
        _ path: String, from device: String, _ world: World,
        _ serve: () async throws -> Answer
    ) async throws -> Answer {
        switch try takeEffect(path, device) {
        case nil: return try await serve()
        case .answer(let code, let retryAfterSeconds, let frameworkCode):
            throw ServiceFailure(
                ServiceError(
                    code, "The test scripted this failure of \(path) (\(code.rawValue)).",
                    retryAfterSeconds: retryAfterSeconds,
                    frameworkCode: frameworkCode))
        case .delay(let seconds):
            try await world.sleep(seconds)
            return try await serve()
        case .dropConnectionBeforeCommit: throw Self.lost
        case .dropConnectionAfterCommit:
            _ = try await serve()
            throw Self.lost
        }
    }

    private static let lost = TransportError.lost()

    /// - Throws: `TransportError` `noRoute` if the device is cut off.
    func checkNetwork(_ device: String) throws {
        if state.withLock({ $0[device]?.isCutOff ?? false }) {
            throw TransportError(
                .noRoute, "The test has cut the device \(device) off; set its isCutOff to false.")
        }
    }

    private func takeEffect(_ path: String, _ device: String) throws -> DeviceFaults.Effect? {
        try checkNetwork(device)
        return state.withLock { state in
            guard let index = state[device]?.faults.firstIndex(where: { $0.path ?? path == path })
            else { return nil }
            state[device]?.faults[index].times -= 1
            let fault = state[device]?.faults[index]
            if fault?.times ?? 0 <= 0 { state[device]?.faults.remove(at: index) }
            return fault?.effect
        }
    }

    /// The next notification, or the one before again; nil if none arrived in time.
    func notification(
        to device: String, _ next: () async throws -> NotificationPayload?
    ) async throws -> NotificationPayload? {
        try checkNetwork(device)
        if let repeated = state.withLock({ $0[device]?.repeated.take() }) { return repeated }
        while let payload = try await next() {
            try checkNetwork(device)
            let times = state.withLock { state in
                let times = state[device]?.notificationTimes.first ?? 1
                if state[device]?.notificationTimes.isEmpty == false {
                    state[device]?.notificationTimes.removeFirst()
                }
                if times > 1 { state[device]?.repeated = payload }
                return times
            }
            if times > 0 { return payload }
        }
        return nil
    }
}

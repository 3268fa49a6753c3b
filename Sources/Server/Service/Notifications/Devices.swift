import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// The devices that listen, and the channels to them: the courier's long polls and, if it is set up, Apple's push
/// service.
struct Devices: Sendable {
    let directory: any Directory
    let limits: Limits
    let world: World
    let courier: Courier
    let pushes: PushQueue?

    /// A user's registered devices whose tokens have not expired; none while the account is disabled.
    func listeners(of user: String, in address: ContainerAddress) async throws -> [DeviceRow] {
        let now = world.nowMilliseconds()
        let devices = try await directory.devices(of: user, in: address).filter {
            $0.isRegistered && now - $0.lastUsedMilliseconds < lifetimeMilliseconds(of: $0.channel)
        }
        guard !devices.isEmpty, try await directory.user(recordName: user)?.isDisabled != true
        else { return [] }
        return devices
    }

    func lifetimeMilliseconds(of channel: DeviceRow.Channel) -> Int64 {
        let seconds =
            channel == .courier
            ? limits.pushTokenSeconds : limits.apnsTokenSeconds
        return Int64(seconds * 1_000)
    }

    func deliver(_ deliveries: [Delivery]) async {
        await courier.deliver(deliveries.filter { $0.device.channel == .courier })
        guard let pushes else { return }
        await pushes.deliver(deliveries.filter { $0.device.channel != .courier })
    }

    /// Stores a device. The least recently used ones are removed when the user, or the device itself, has more push
    /// tokens than are served.
    ///
    /// - Parameter session: The session of the request. A new password may have ended it, and deleted the user's
    ///   devices, since the request arrived.
    func put(_ device: DeviceRow, ofSession session: String?) async throws {
        guard try await directory.put(device, ofSession: session) else {
            throw ServiceError.signInNeeded
        }
        let others = try await directory.devices(of: device.userRecordName, in: device.address)
            .filter { $0.pushToken != device.pushToken }
        let same = others.filter { $0.clientID == device.clientID }
        let surplus = Set(
            same.dropLast(limits.pushTokensPerDevice - 1).map(\.pushToken))
        let rest = others.filter { !surplus.contains($0.pushToken) }
        let old = rest.dropLast(limits.devicesPerUser - 1).map(\.pushToken)
        for pushToken in surplus.sorted() + old {
            try await delete(pushToken, in: device.address)
        }
    }

    /// Removes a user's push token from a container; one that is unknown, or another user's, stays.
    func delete(
        _ pushToken: String, of user: String, in address: ContainerAddress
    ) async throws {
        let isOwn = try await directory.devices(pushToken: pushToken)
            .contains { $0.userRecordName == user && $0.address == address }
        if isOwn { try await delete(pushToken, in: address) }
    }

    /// Removes a push token from a container, or from all of them; its queued notifications are dropped.
    func delete(_ pushToken: String, in address: ContainerAddress?) async throws {
        try await directory.deleteDevice(pushToken: pushToken, in: address)
        if try await directory.device(pushToken: pushToken) == nil {
            await courier.forget(pushToken: pushToken)
        }
    }

    /// Checks a long poll's push token and notes that it is in use.
    func renew(pushToken: String) async throws {
        let now = world.nowMilliseconds()
        let lifetime = lifetimeMilliseconds(of: .courier)
        let devices = try await directory.devices(pushToken: pushToken)
            .filter { $0.channel == .courier }
        guard let used = devices.map(\.lastUsedMilliseconds).max() else {
            throw ServiceError.unknownPushToken
        }
        guard now - used < lifetime else {
            try await delete(pushToken, in: nil)
            throw ServiceError.unknownPushToken
        }
        // Written rarely, since a poll comes every minute and each write waits for the disk. A new password may delete the
        // token meanwhile, which then stays deleted.
        for device in devices where now - device.lastUsedMilliseconds > lifetime / 10 {
            try await directory.renewDevice(
                pushToken: pushToken, in: device.address, atMilliseconds: now)
        }
    }
}

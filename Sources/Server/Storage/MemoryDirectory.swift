import StratusRecords
import Synchronization

/// The directory in memory.
final class MemoryDirectory: Directory {
    struct DeviceKey: Hashable {
        var pushToken: String
        var address: ContainerAddress
    }

    struct State {
        var isClosed = false
        var containers: Set<ContainerAddress> = []
        var apiTokens: [String: APITokenRow] = [:]
        /// By record name.
        var users: [String: UserRow] = [:]
        var userNames: [String: String] = [:]
        var sessions: [String: SessionRow] = [:]
        var devices: [DeviceKey: DeviceRow] = [:]
        var identities: [IdentityRow: String] = [:]
        /// Who lets others find them, by container.
        var discoverable: [ContainerAddress: Set<String>] = [:]
        var serverKeys: [String: ServerKeyRow] = [:]
        var schemas: [ContainerAddress: SchemaRows] = [:]
        var shortGUIDs: [String: ShortGUIDRow] = [:]
    }

    private let key: [UInt8]
    private let state = Mutex(State())

    init(signingKey: [UInt8]) {
        key = signingKey
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Runs `body` on the state, unless it is closed.
    func use<Outcome: Sendable>(
        _ body: (inout State) throws -> Outcome
    ) throws -> Outcome {
        try state.withLock { state in
            if state.isClosed { throw StorageError.closed() }
            return try body(&state)
        }
    }

    func signingKey() async throws -> [UInt8] { try use { _ in key } }

    /// No other process can reach it.
    func changesByOthers() async throws -> Int64 { try use { _ in 0 } }

    func container(_ address: ContainerAddress) async throws -> Bool {
        try use { $0.containers.contains(address) }
    }

    func createContainer(_ address: ContainerAddress) async throws {
        try use { _ = $0.containers.insert(address) }
    }

    func apiToken(_ token: String) async throws -> APITokenRow? { try use { $0.apiTokens[token] } }

    func put(_ token: APITokenRow) async throws { try use { $0.apiTokens[token.token] = token } }

    // MARK: Users

    func user(named name: String) async throws -> UserRow? {
        try use { state in state.userNames[name].flatMap { state.users[$0] } }
    }

    func user(recordName: String) async throws -> UserRow? { try use { $0.users[recordName] } }

    func insert(_ user: UserRow) async throws -> UserRow {
        try use { state in
            if let present = state.userNames[user.name].flatMap({ state.users[$0] }) {
                return present
            }
            if state.users[user.recordName] != nil {
                throw StorageError(
                    .other, "Another user has this record name. Draw a new one.")
            }
            state.users[user.recordName] = user
            state.userNames[user.name] = user.recordName
            return user
        }
    }

    // MARK: Sessions

    func session(_ identifier: String) async throws -> SessionRow? {
        try use { $0.sessions[identifier] }
    }

    func put(_ session: SessionRow) async throws {
        try use { $0.sessions[session.identifier] = session }
    }

    func deleteSession(_ identifier: String) async throws {
        try use { $0.sessions[identifier] = nil }
    }

    // MARK: Devices

    func devices(pushToken: String) async throws -> [DeviceRow] {
        try use { state in
            state.devices.values
                .filter { $0.pushToken == pushToken }
                .sorted { left, right in
                    left.address.container == right.address.container
                        ? precedes(
                            left.address.environment.rawValue, right.address.environment.rawValue)
                        : precedes(left.address.container, right.address.container)
                }
        }
    }

    func put(_ device: DeviceRow) async throws {
        try use {
            $0.devices[DeviceKey(pushToken: device.pushToken, address: device.address)] = device
        }
    }

    func devices(of user: String, in address: ContainerAddress) async throws -> [DeviceRow] {
        try use { state in
            state.devices.values
                .filter { $0.userRecordName == user && $0.address == address }
                .sorted { left, right in
                    left.lastUsedMilliseconds == right.lastUsedMilliseconds
                        ? precedes(left.pushToken, right.pushToken)
                        : left.lastUsedMilliseconds < right.lastUsedMilliseconds
                }
        }
    }

    func deleteDevice(pushToken: String, in address: ContainerAddress?) async throws {
        try use { state in
            state.devices = state.devices.filter {
                $0.key.pushToken != pushToken || address != nil && $0.key.address != address
            }
        }
    }

    // MARK: Sharing

    func shortGUID(_ shortGUID: String) async throws -> ShortGUIDRow? {
        try use { $0.shortGUIDs[shortGUID] }
    }

    func put(_ rows: [ShortGUIDRow]) async throws {
        try use { state in
            for row in rows { state.shortGUIDs[row.shortGUID] = row }
        }
    }

    func deleteShortGUIDs(_ shortGUIDs: [String]) async throws {
        try use { state in
            for shortGUID in shortGUIDs { state.shortGUIDs[shortGUID] = nil }
        }
    }
}

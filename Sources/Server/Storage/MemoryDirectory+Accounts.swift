import StratusRecords

extension MemoryDirectory {
    // MARK: Containers and API tokens

    func containers() async throws -> [ContainerAddress] {
        try use { state in
            state.containers.sorted { left, right in
                left.container == right.container
                    ? precedes(left.environment.rawValue, right.environment.rawValue)
                    : precedes(left.container, right.container)
            }
        }
    }

    func apiTokens() async throws -> [APITokenRow] {
        try use { state in
            state.apiTokens.values.sorted { left, right in
                left.createdMilliseconds == right.createdMilliseconds
                    ? precedes(left.token, right.token)
                    : left.createdMilliseconds < right.createdMilliseconds
            }
        }
    }

    func deleteAPIToken(_ token: String) async throws { try use { $0.apiTokens[token] = nil } }

    // MARK: Users

    func users(after recordName: String, limit: Int) async throws -> [UserRow] {
        try use { state in
            Array(
                state.users.values
                    .filter { precedes(recordName, $0.recordName) }
                    .sorted { precedes($0.recordName, $1.recordName) }
                    .prefix(limit))
        }
    }

    func user(verifiedEmailAddress: String) async throws -> UserRow? {
        try use { $0.user(verifiedEmailAddress: verifiedEmailAddress) }
    }

    func update(_ user: UserRow) async throws -> Bool {
        try use { state in
            guard let old = state.users[user.recordName] else { return false }
            if user.isEmailVerified, let address = user.emailAddress,
                let holder = state.user(verifiedEmailAddress: address),
                holder.recordName != user.recordName
            {
                return false
            }
            var user = user
            user.name = old.name
            state.users[user.recordName] = user
            return true
        }
    }

    func deleteUser(_ recordName: String) async throws {
        try use { state in
            if let user = state.users.removeValue(forKey: recordName) {
                state.userNames[user.name] = nil
            }
            state.sessions = state.sessions.filter { $0.value.userRecordName != recordName }
            state.identities = state.identities.filter { $0.value != recordName }
            state.devices = state.devices.filter { $0.value.userRecordName != recordName }
            state.serverKeys = state.serverKeys.filter { $0.value.userRecordName != recordName }
            for address in state.schemas.keys {
                state.schemas[address]?.members.removeAll { $0.user == recordName }
            }
            for address in state.discoverable.keys {
                state.discoverable[address]?.remove(recordName)
            }
        }
    }

    // MARK: Sessions

    func touchSession(_ identifier: String, usedMilliseconds: Int64) async throws {
        try use { state in
            guard var session = state.sessions[identifier] else { return }
            session.lastUsedMilliseconds = max(session.lastUsedMilliseconds, usedMilliseconds)
            state.sessions[identifier] = session
        }
    }

    func deleteSessions(of userRecordName: String) async throws {
        try use { state in
            state.sessions = state.sessions.filter { $0.value.userRecordName != userRecordName }
        }
    }

    func deleteSessions(staysSignedIn: Bool, unusedSince milliseconds: Int64) async throws {
        try use { state in
            state.sessions = state.sessions.filter { _, session in
                session.staysSignedIn != staysSignedIn
                    || session.lastUsedMilliseconds >= milliseconds
            }
        }
    }

    // MARK: Identities and consents

    func user(identity: IdentityRow) async throws -> UserRow? {
        try use { state in state.identities[identity].flatMap { state.users[$0] } }
    }

    func put(_ identity: IdentityRow, of userRecordName: String) async throws {
        try use { state in
            if state.identities[identity] == nil { state.identities[identity] = userRecordName }
        }
    }

    func isDiscoverable(
        _ userRecordName: String, in address: ContainerAddress
    ) async throws -> Bool {
        try use { $0.discoverable[address]?.contains(userRecordName) ?? false }
    }

    func setDiscoverable(
        _ isDiscoverable: Bool, _ userRecordName: String, in address: ContainerAddress
    ) async throws {
        try use { state in
            if isDiscoverable {
                state.discoverable[address, default: []].insert(userRecordName)
            } else {
                state.discoverable[address]?.remove(userRecordName)
            }
        }
    }

    // MARK: Keys of servers

    func serverKey(_ identifier: String) async throws -> ServerKeyRow? {
        try use { $0.serverKeys[identifier] }
    }

    func serverKeys() async throws -> [ServerKeyRow] {
        try use { state in
            state.serverKeys.values.sorted { left, right in
                left.createdMilliseconds == right.createdMilliseconds
                    ? precedes(left.identifier, right.identifier)
                    : left.createdMilliseconds < right.createdMilliseconds
            }
        }
    }

    func put(_ key: ServerKeyRow) async throws { try use { $0.serverKeys[key.identifier] = key } }

    func spend(serverKey identifier: String, through milliseconds: Int64) async throws {
        try use { state in
            guard var key = state.serverKeys[identifier] else { return }
            key.spentThroughMilliseconds = max(key.spentThroughMilliseconds, milliseconds)
            state.serverKeys[identifier] = key
        }
    }

    func deleteServerKey(_ identifier: String) async throws {
        try use { $0.serverKeys[identifier] = nil }
    }
}

extension MemoryDirectory.State {
    func user(verifiedEmailAddress address: String) -> UserRow? {
        users.values.first { $0.isEmailVerified && $0.emailAddress == address }
    }
}

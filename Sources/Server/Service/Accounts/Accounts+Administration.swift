import StratusRecords
import StratusStorage
import StratusWire

/// What the operator does with people and keys, from the command line.
extension Accounts {
    // MARK: Containers and API tokens

    /// Creates a container in an environment, unless it exists.
    ///
    /// - Throws: `ServiceError` with BAD_REQUEST when the name is not 1 to 127 letters, digits, dots, hyphens and
    ///   underscores, or begins with a dot.
    public func createContainer(_ address: ContainerAddress) async throws {
        try await createContainerIfNeeded(address)
    }

    /// Removes what the directory stores of a container's environment: API tokens, server keys, sessions, devices,
    /// schema, roles and links. The storage deletes the databases.
    public func deleteContainer(_ address: ContainerAddress) async throws {
        try await directory.deleteContainer(address)
        forget()
    }

    /// All containers with their environments, by name and environment.
    public func containers() async throws -> [ContainerAddress] {
        try await directory.containers()
    }

    /// Makes an API token for a container, and the container if it is new.
    ///
    /// - Parameters:
    ///   - allowedOrigins: The origins of the web pages that may use it, such as `https://trails.example.org`; empty
    ///     for all.
    ///   - callbackURL: Where a browser goes after the sign-in: an http or https address, or one with an app's own
    ///     scheme. `http://127.0.0.1/` stands for a listener on the person's machine, at any port.
    ///   - address: The container and its environment.
    ///   - name: A name for it, shown by the command line.
    /// - Returns: 64 hexadecimal digits.
    public func createAPIToken(
        for address: ContainerAddress, name: String, allowedOrigins: [String] = [],
        callbackURL: String? = nil
    ) async throws -> String {
        guard name.utf8.count <= 255, allowedOrigins.count <= 100 else {
            throw ServiceError.invalid(
                """
                The token's name has more than 255 bytes, or it has more than 100 origins; give a shorter \
                name or fewer.
                """)
        }
        for origin in allowedOrigins where !WebOrigin.isOrigin(origin) {
            throw ServiceError.invalid(
                """
                \(origin) is not an origin; give a scheme, a host and perhaps a port other than the \
                scheme's own, such as https://trails.example.org.
                """)
        }
        if let callbackURL, CallbackAddress(callbackURL) == nil {
            throw ServiceError.invalid(
                """
                \(callbackURL) is not a callback URL; give an http or https address without a \
                fragment, or one of an app's own scheme with a dot, such as org.example.trails:/signed-in.
                """)
        }
        try await createContainer(address)
        let token = settings.world.newIdentifier() + settings.world.newIdentifier()
        try await directory.put(
            APITokenRow(
                token: token, address: address, name: name, allowedOrigins: allowedOrigins,
                callbackURL: callbackURL, createdMilliseconds: settings.world.nowMilliseconds()))
        return token
    }

    /// The API tokens of all containers, the oldest first.
    public func apiTokens() async throws -> [APITokenRow] { try await directory.apiTokens() }

    /// Deletes an API token, so that requests with it are refused.
    ///
    /// - Throws: `ServiceError` with NOT_FOUND when there is no such token.
    public func revokeAPIToken(_ token: String) async throws {
        try await revoke(
            try await directory.apiToken(token),
            orSay: "There is no such API token; list them with `stratus token list`."
        ) { try await directory.deleteAPIToken(token) }
    }

    // MARK: Users

    /// - Throws: ``SignInRefusal`` when the address or the password is not acceptable.
    public func createUser(
        emailAddress: String, password: String, givenName: String, familyName: String,
        isEmailVerified: Bool
    ) async throws -> UserRow {
        try await createAccount(
            emailAddress: emailAddress, password: password, givenName: givenName,
            familyName: familyName, isEmailVerified: isEmailVerified)
    }

    /// A page of all users, in byte order of their record names.
    ///
    /// - Parameter recordName: The last record name of the page before; empty for the first page.
    /// - Parameter limit: The most users to return.
    public func users(after recordName: String, limit: Int) async throws -> [UserRow] {
        try await directory.users(after: recordName, limit: limit)
    }

    /// The user with a record name, sign-in name or e-mail address.
    public func user(_ name: String) async throws -> UserRow {
        let normalised = Accounts.normalised(emailAddress: name)
        var user = try await directory.user(recordName: name)
        if user == nil { user = try await directory.user(named: name) }
        if user == nil, let normalised {
            user = try await directory.user(named: normalised)
            if user == nil { user = try await directory.user(verifiedEmailAddress: normalised) }
        }
        guard let user else { throw ServiceError.unknownUser(name) }
        return user
    }

    /// Disables an account, so that its user cannot sign in and requests are refused, or enables it again.
    ///
    /// The sessions stay, and work again once the account is enabled.
    ///
    /// - Parameter name: The user's record name, sign-in name or e-mail address.
    /// - Throws: `ServiceError`: NOT_FOUND when there is no such user, TRY_AGAIN_LATER when the account to be enabled
    ///   is being deleted.
    public func setDisabled(_ isDisabled: Bool, _ name: String) async throws {
        let user = try await user(name)
        try await update(user) { $0.isDisabled = isDisabled || $0.isBeingRemoved }
        if !isDisabled, try await self.user(user.recordName).isBeingRemoved {
            throw ServiceError.removalUnderWay
        }
    }

    /// - Throws: `ServiceError`: NOT_FOUND when there is no such user, BAD_REQUEST when they have no e-mail address, EXISTS
    ///   when another user has verified it.
    public func setEmailVerified(_ isVerified: Bool, _ name: String) async throws {
        let user = try await user(name)
        guard user.emailAddress != nil else {
            throw ServiceError.invalid(
                "The user \(name) has no e-mail address that could be verified.")
        }
        try await update(user) { $0.isEmailVerified = isVerified }
    }

    /// Gives a user another password, ends all sessions and deletes the push tokens of their devices: the address of a
    /// long poll is a credential too.
    public func setPassword(_ password: String, _ name: String) async throws {
        try await setPassword(password, name, from: "command")
    }

    func setPassword(
        _ password: String, _ name: String, from networkAddress: String
    ) async throws {
        let user = try await user(name)
        guard Accounts.normalised(emailAddress: user.name) != nil else {
            throw ServiceError.invalid(
                "The user \(name) has no e-mail address and so does not sign in by password.")
        }
        let passwordHash = try await hash(password, from: networkAddress)
        try await update(user, endingSessions: true) {
            $0.passwordHash = passwordHash
            $0.emailAddress = $0.emailAddress ?? $0.name
        }
    }

    /// Marks an account as being deleted with all that its user has. From then on, sign-ins to it are refused.
    func beginRemoval(of recordName: String) async throws {
        let user = try await user(recordName)
        try await update(user, endingSessions: true) {
            $0.isDisabled = true
            $0.isBeingRemoved = true
        }
    }

    /// Removes an account with its sessions, identities, consents, devices and keys. The records stay.
    public func deleteUser(_ name: String) async throws -> UserRow {
        let user = try await user(name)
        // Its row is what the next start continues the deletion of the records from.
        guard !user.isBeingRemoved else { throw ServiceError.removalUnderWay }
        try await directory.deleteUser(user.recordName)
        forget()
        return user
    }

    /// Changes the row as it is stored: what others changed since `user` was read is kept.
    private func update(
        _ user: UserRow, endingSessions: Bool = false,
        _ change: @escaping @Sendable (inout UserRow) -> Void
    ) async throws {
        let isChanged = try await directory.updateUser(
            user.recordName, endingSessions: endingSessions, change)
        guard isChanged else {
            // Refused too where the user was deleted meanwhile, which this throws.
            _ = try await self.user(user.recordName)
            throw ServiceError(
                .exists,
                """
                Another user has the verified e-mail address of \(user.name); `stratus user verify \
                --undo` takes it back from that user.
                """)
        }
        forget()
    }

    // MARK: Server-to-server keys

    /// The server-to-server keys of all containers, the oldest first.
    public func serverKeys() async throws -> [ServerKeyRow] { try await directory.serverKeys() }

    /// Registers the public key of a server for a container, and creates the user as whom it writes.
    ///
    /// - Parameter publicKey: PEM, as `openssl ec -pubout` writes it.
    /// - Parameter address: The container and its environment.
    /// - Parameter name: A name for it, shown by the command line.
    /// - Returns: The key with its identifier.
    public func addServerKey(
        _ publicKey: String, name: String, for address: ContainerAddress
    ) async throws -> ServerKeyRow {
        let pem = try ServerKeys.publicKey(publicKey).pemRepresentation
        guard name.utf8.count <= 255 else {
            throw ServiceError.invalid(
                "The key's name has more than 255 bytes; give a shorter one.")
        }
        try await createContainer(address)
        let identifier = settings.world.newIdentifier() + settings.world.newIdentifier()
        let user = try await directory.insert(newUser(named: "key \(identifier)"))
        let key = ServerKeyRow(
            identifier: identifier, address: address, name: name, publicKey: pem,
            userRecordName: user.recordName, createdMilliseconds: settings.world.nowMilliseconds())
        try await directory.put(key)
        return key
    }

    /// Deletes a server-to-server key, so that requests signed with it are refused. Its user and records stay.
    ///
    /// - Throws: `ServiceError` with NOT_FOUND when there is no such key.
    public func revokeServerKey(_ identifier: String) async throws {
        try await revoke(
            try await directory.serverKey(identifier),
            orSay: "There is no such key; list them with `stratus key list`."
        ) { try await directory.deleteServerKey(identifier) }
    }

    /// Deletes the credential of an app or a server, and forgets the callers that were admitted by it.
    private func revoke<Row>(
        _ row: Row?, orSay reason: String, _ delete: () async throws -> Void
    ) async throws {
        guard row != nil else { throw ServiceError(.notFound, reason) }
        try await delete()
        forget()
    }
}

/// The origin of a web page: scheme, host and port, as browsers write it.
package enum WebOrigin {
    /// The origin of an address; nil unless it is an http or https address without user name and spaces.
    package static func origin(of url: String) -> String? {
        guard url.utf8.count <= 2_000, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        for scheme in ["https://", "http://"] where url.hasPrefix(scheme) {
            let host = url.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            let isPlain = host.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0)
                    || [0x2D, 0x2E, 0x3A, 0x5B, 0x5D].contains($0)
            }
            return host.isEmpty || !isPlain ? nil : scheme + host
        }
        return nil
    }

    /// Whether a text is an origin as browsers write it: they leave out the port that the scheme has by default.
    package static func isOrigin(_ text: String) -> Bool {
        let hasDefaultPort = text.hasSuffix(text.hasPrefix("https:") ? ":443" : ":80")
        return origin(of: text) == text && !hasDefaultPort
    }
}

import StratusRecords
import StratusStorage

extension Accounts {
    /// The user with this e-mail address and password.
    ///
    /// The work and the error are the same whether or not the account exists.
    ///
    /// - Throws: ``SignInRefusal``.
    func user(signingIn form: SignInForm) async throws -> UserRow {
        guard let name = Self.normalised(emailAddress: form.emailAddress) else {
            throw SignInRefusal.wrong
        }
        let attempt = try guesses.take(account: name, from: form.networkAddress)
        let user = try await directory.user(named: name)
        let hash = user?.passwordHash.flatMap(PasswordHash.init(text:))
        let password = form.password
        let cost = settings.accounts.passwordCost
        let isRight: Bool
        do {
            isRight = try await passwords.run(
                from: form.networkAddress, cost: hash?.cost ?? cost
            ) {
                if let hash { return try hash.matches(password) }
                // Without an account, hash anyway: the time must not show whether it exists.
                _ = try PasswordHash(password, salt: [0], cost: cost)
                return false
            }
        } catch let refusal as SignInRefusal where refusal == .busy {
            attempt.wasNotChecked()
            throw refusal
        }
        guard isRight, let user else { throw SignInRefusal.wrong }
        attempt.succeeded()
        guard !user.isDisabled else { throw SignInRefusal.disabled }
        return user
    }

    /// Makes an account on the sign-up page.
    ///
    /// - Throws: ``SignInRefusal``.
    func user(signingUp form: SignInForm) async throws -> UserRow {
        guard settings.accounts.signUp == .open else { throw SignInRefusal.closed }
        _ = try guesses.take(from: form.networkAddress)
        let user = try await createAccount(
            emailAddress: form.emailAddress, password: form.password, givenName: form.givenName,
            familyName: form.familyName, isEmailVerified: settings.accounts.trustsEmailAddresses,
            networkAddress: form.networkAddress)
        guesses.know(account: user.name, at: form.networkAddress)
        return user
    }

    /// Makes an account with a password.
    ///
    /// - Throws: ``SignInRefusal``.
    func createAccount(
        emailAddress: String, password: String, givenName: String, familyName: String,
        isEmailVerified: Bool, networkAddress: String = "command"
    ) async throws -> UserRow {
        guard let name = Self.normalised(emailAddress: emailAddress) else {
            throw SignInRefusal.badEmailAddress
        }
        guard [givenName, familyName].allSatisfy({ $0.count <= 100 && $0.utf8.count <= 400 }) else {
            throw SignInRefusal.badName
        }
        let hash = try await hash(password, from: networkAddress)
        var user = newUser(named: name)
        user.emailAddress = name
        user.passwordHash = hash
        user.givenName = givenName.isEmpty ? nil : givenName
        user.familyName = familyName.isEmpty ? nil : familyName
        let holder = try await directory.user(verifiedEmailAddress: name)
        guard holder == nil,
            try await directory.insert(user).recordName == user.recordName
        else { throw SignInRefusal.taken }
        if isEmailVerified {
            user.isEmailVerified = true
            // Another account may have verified the address in the meantime; then this one is not verified.
            user.isEmailVerified = try await directory.update(user)
        }
        return user
    }

    /// The hash of a new password.
    ///
    /// - Throws: ``SignInRefusal`` when the password is too short or too long.
    ///
    /// - Parameter networkAddress: Where the password comes from.
    func hash(_ password: String, from networkAddress: String = "command") async throws -> String {
        guard (8...256).contains(password.count), password.utf8.count <= 1_024 else {
            throw SignInRefusal.badPassword
        }
        let salt = PasswordHash.newSalt(settings.world)
        let cost = settings.accounts.passwordCost
        return try await passwords.run(from: networkAddress, cost: cost) {
            try PasswordHash(password, salt: salt, cost: cost).text
        }
    }

    /// The user of a provider's identity, created at the first sign-in.
    func user(of identity: Identity) async throws -> UserRow {
        let row = IdentityRow(issuer: identity.issuer, subject: identity.subject)
        if let user = try await directory.user(identity: row) { return user }
        // The name makes one user of two simultaneous requests. It is not an e-mail address, so it cannot be used to
        // sign in with a password.
        let name = "\(identity.subject) \(identity.issuer)"
        var user = newUser(named: name)
        user.emailAddress = identity.emailAddress.flatMap(Self.normalised(emailAddress:))
        user.givenName = identity.givenName.map { String($0.prefix(100)) }
        user.familyName = identity.familyName.map { String($0.prefix(100)) }
        user = try await directory.insert(user)
        try await directory.put(row, of: user.recordName)
        if user.emailAddress != nil, !user.isEmailVerified {
            var verified = user
            verified.isEmailVerified = true
            if try await directory.update(verified) { user = verified }
        }
        return user
    }

    /// An e-mail address in the one form in which it is compared: lowercase, without spaces around it. Nil when the
    /// text is no e-mail address or has letters outside ASCII.
    static func normalised(emailAddress text: String) -> String? {
        let address = text.drop { $0 == " " }
        let end = address.lastIndex { $0 != " " }
        guard let end else { return nil }
        let bytes = Array(address[...end].utf8)
        guard (3...254).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        let halves = bytes.split(separator: 0x40, omittingEmptySubsequences: false)
        guard halves.count == 2, (1...64).contains(halves[0].count), !halves[1].isEmpty,
            !halves[1].starts(with: [0x2E]), halves[1].last != 0x2E,
            halves[1].allSatisfy({ $0 != 0x2F && $0 != 0x3C && $0 != 0x3E })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}

/// What a person enters on the sign-in or sign-up page.
package struct SignInForm: Sendable {
    package var emailAddress: String
    package var password: String
    package var givenName: String
    package var familyName: String
    package var staysSignedIn: Bool
    /// Whether others may find the user in this container by the e-mail address; nil leaves the setting unchanged.
    package var isDiscoverable: Bool?
    /// The network address that the form came from.
    package var networkAddress: String

    package init(
        emailAddress: String, password: String, givenName: String = "", familyName: String = "",
        staysSignedIn: Bool = false, isDiscoverable: Bool? = nil, networkAddress: String
    ) {
        self.emailAddress = emailAddress
        self.password = password
        self.givenName = givenName
        self.familyName = familyName
        self.staysSignedIn = staysSignedIn
        self.isDiscoverable = isDiscoverable
        self.networkAddress = networkAddress
    }
}

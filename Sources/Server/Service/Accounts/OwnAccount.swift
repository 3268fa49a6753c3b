import StratusRecords
import StratusRuntime
import StratusStorage

/// A person's own account, as its page shows it.
package struct OwnAccount: Sendable {
    package var user: UserRow
    /// The oldest first.
    package var sessions: [SessionRow]
    /// For the page's forms.
    package var proof: String
}

/// What a person does with an account of their own, without the operator.
struct AccountSelfService: Sendable {
    let accounts: Accounts
    let directory: any Directory
    let world: World
    let signerSource: TokenSignerSource
    let watch: DirectoryWatch

    private var now: Int64 { world.nowMilliseconds() }

    /// Opens the account of a person who enters the right e-mail address and password.
    ///
    /// - Parameter secret: The secret of the browser's cookie.
    /// - Throws: ``SignInRefusal``.
    func open(_ form: SignInForm, secret: String) async throws -> OwnAccount {
        try await watch.refresh()
        return try await account(try await accounts.user(signingIn: form), secret: secret)
    }

    /// The account that a page's form belongs to.
    ///
    /// - Throws: ``SignInRefusal/expired``.
    func account(proof text: String, secret: String) async throws -> OwnAccount {
        try await watch.refresh()
        guard let proof = AccountProof(text: text, signer: try await signerSource.signer()),
            proof.secret == secret, now - proof.issuedMilliseconds < AccountProof.seconds * 1_000,
            let user = try await directory.user(recordName: proof.userRecordName),
            !user.isDisabled, AccountProof.mark(of: user) == proof.passwordMark
        else { throw SignInRefusal.pageExpired }
        return OwnAccount(
            user: user, sessions: try await directory.sessions(of: user.recordName), proof: text)
    }

    private func account(_ user: UserRow, secret: String) async throws -> OwnAccount {
        let proof = AccountProof(
            userRecordName: user.recordName, passwordMark: AccountProof.mark(of: user),
            secret: secret, issuedMilliseconds: now)
        return OwnAccount(
            user: user, sessions: try await directory.sessions(of: user.recordName),
            proof: proof.text(signedBy: try await signerSource.signer()))
    }

    /// Ends one of the account's sessions. A session of another account is left alone.
    func endSession(_ identifier: String, of account: OwnAccount) async throws {
        guard let session = account.sessions.first(where: { $0.identifier == identifier }) else {
            return
        }
        for address in try await directory.containers()
        where session.address == nil || session.address == address {
            try await accounts.revoke(session, at: address)
        }
        try await accounts.endSession(session.identifier)
    }

    /// Changes the account's password, checking the current one; all sessions end.
    ///
    /// - Parameter form: The account's address, the current password, and the network address of the form.
    func changePassword(
        of account: OwnAccount, to password: String, _ form: SignInForm, secret: String
    ) async throws -> OwnAccount {
        try await confirm(account, form)
        try await accounts.setPassword(
            password, account.user.recordName, from: form.networkAddress)
        return try await self.account(
            try await accounts.user(account.user.recordName), secret: secret)
    }

    /// Checks that the person at the page knows the account's password.
    ///
    /// - Throws: ``SignInRefusal``.
    func confirm(_ account: OwnAccount, _ form: SignInForm) async throws {
        var form = form
        form.emailAddress = account.user.name
        guard try await accounts.user(signingIn: form).recordName == account.user.recordName else {
            throw SignInRefusal.wrong
        }
    }

    /// The recovery code for a forgotten password; nil for an account without one.
    func recoveryCode(of account: OwnAccount) async throws -> String? {
        RecoveryCode(of: account.user, signer: try await signerSource.signer())?.text
    }

    /// Sets a new password by the account's recovery code; all sessions end.
    ///
    /// The error is the same whether or not the account exists, and guesses count like those of passwords.
    ///
    /// - Throws: ``SignInRefusal``.
    func recover(
        _ form: SignInForm, code: String, secret: String
    ) async throws -> OwnAccount {
        try await watch.refresh()
        guard let name = Accounts.normalised(emailAddress: form.emailAddress) else {
            throw SignInRefusal.wrongCode
        }
        let attempt = try accounts.guesses.take(account: name, from: form.networkAddress)
        guard let user = try await directory.user(named: name),
            let right = RecoveryCode(of: user, signer: try await signerSource.signer()),
            right.matches(code)
        else { throw SignInRefusal.wrongCode }
        attempt.succeeded()
        guard !user.isDisabled else { throw SignInRefusal.disabled }
        try await accounts.setPassword(
            form.password, user.recordName, from: form.networkAddress)
        return try await account(try await accounts.user(user.recordName), secret: secret)
    }
}

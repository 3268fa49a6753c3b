import StratusRecords
import StratusStorage

/// What a person does with an account of their own, on its page.
extension CloudService {
    private var selfService: AccountSelfService {
        AccountSelfService(
            accounts: accounts, directory: components.directory, world: settings.world,
            signerSource: components.signerSource, watch: pipeline.watch)
    }

    private var removal: AccountRemoval {
        AccountRemoval(
            requests: components.ownRequests, storage: storage, limits: settings.limits,
            world: settings.world)
    }

    /// Opens the account of a person who enters the right e-mail address and password.
    ///
    /// - Throws: ``SignInRefusal``.
    package func openAccount(_ form: SignInForm, secret: String) async throws -> OwnAccount {
        try await selfService.open(form, secret: secret)
    }

    /// The account that a page's form belongs to.
    ///
    /// - Throws: ``SignInRefusal``.
    package func account(proof: String, secret: String) async throws -> OwnAccount {
        try await selfService.account(proof: proof, secret: secret)
    }

    package func endSession(_ identifier: String, of account: OwnAccount) async throws {
        try await selfService.endSession(identifier, of: account)
    }

    /// Changes the account's password, checking the current one; all sessions end.
    package func changePassword(
        of account: OwnAccount, to password: String, _ form: SignInForm, secret: String
    ) async throws -> OwnAccount {
        try await selfService.changePassword(of: account, to: password, form, secret: secret)
    }

    package func recoveryCode(of account: OwnAccount) async throws -> String? {
        try await selfService.recoveryCode(of: account)
    }

    /// Sets a new password by the account's recovery code; all sessions end.
    package func recover(
        _ form: SignInForm, code: String, secret: String
    ) async throws -> OwnAccount {
        try await selfService.recover(form, code: code, secret: secret)
    }

    /// Deletes the account with its data, after checking its password.
    package func delete(_ account: OwnAccount, _ form: SignInForm) async throws {
        try await selfService.confirm(account, form)
        try await deleteAccount(of: account.user)
    }

    /// Deletes an account with what its user has and created. Sign-ins are refused from the first moment on. If the
    /// process ends in between, the next one removes the rest.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER where something could not be removed now.
    package func deleteAccount(of user: UserRow) async throws {
        try await accounts.beginRemoval(of: user.recordName)
        await endAccount(user.recordName).value
        guard try await components.directory.user(recordName: user.recordName) == nil else {
            throw ServiceError.removalUnderWay
        }
    }

    /// Continues the deletions of accounts that an earlier process did not finish.
    func resumeAccountEnds() async throws {
        for user in try await components.directory.usersBeingRemoved() {
            _ = endAccount(user.recordName)
        }
    }

    private func endAccount(_ userRecordName: String) -> Task<Void, Never> {
        components.accountEnds.start(userRecordName) { [self] in
            try await removal.removeData(of: userRecordName)
            // Last, so that until then the next start knows of the deletion.
            try await components.directory.deleteUser(userRecordName)
            accounts.forget()
        }
    }

    /// Removes a user's data and leaves the account.
    package func removeData(of user: UserRow) async throws {
        try await removal.removeData(of: user.recordName)
    }

    /// Permits a person to make their account's archive: one at a time, and only when the sender's rate has paid for
    /// the earlier ones.
    ///
    /// - Throws: ``SignInRefusal``.
    package func beginArchive(of account: OwnAccount) throws(SignInRefusal) -> ArchiveTurn {
        let name = account.user.recordName
        // The same sender for every container in which the account is used.
        let sender = Throttle.Sender.user(
            name, in: ContainerAddress(container: "", environment: .production))
        do {
            try pipeline.meter.checkRate(of: sender)
        } catch {
            throw .tooMany(error.retryAfterSeconds ?? 1)
        }
        guard let turn = components.archives.begin(name, paidBy: sender) else {
            throw .archiveUnderWay
        }
        return turn
    }

    /// Writes the archive for a granted turn: where heavy requests run, and charged by the byte.
    package func writeArchive(
        of account: OwnAccount, for turn: ArchiveTurn,
        _ write: @escaping (_ bytes: [UInt8]) async throws -> Void
    ) async throws {
        defer { turn.end() }
        let (pipeline, sender) = (pipeline, turn.sender)
        try await HeavyThreads.Line.run(on: pipeline.heavy?.threads.line(of: sender)) {
            try await writeArchive(of: account.user) { bytes in
                let pieceBytes = pipeline.components.settings.limits.bytesCountedAsRequest
                pipeline.charge(
                    sender, Double(bytes.count) / Double(max(1, pieceBytes)), admitted: 0)
                try await write(bytes)
            }
        }
    }

    /// Writes all that a user has in private databases and created in public ones, as one tar file.
    package func writeArchive(
        of user: UserRow, _ write: @escaping (_ bytes: [UInt8]) async throws -> Void
    ) async throws {
        var archive = AccountArchive(
            requests: components.ownRequests, storage: storage, limits: settings.limits,
            world: settings.world, write: write)
        try await archive.write(user)
    }
}

import CloudKit
import StratusRuntime

// The owner of the note: each user has their own file, and one file is for the time before a sign-in.
extension NoteController {
    static func note(
        of owner: String?, _ folder: String, _ container: CKContainer, _ version: Int,
        _ world: World
    ) throws -> CloudKitNote {
        let file = NoteFile(folder: folder, owner: owner)
        if owner != nil { try adoptLocalNote(of: folder, in: file) }
        return try CloudKitNote(
            database: CloudKitNoteDatabase(container: container), file: file, version: version,
            world: world)
    }

    /// Observes sign-ins and sign-outs. On Apple's platforms there is one account, and the notification's object is
    /// nil.
    func observeAccount() {
        observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: container.connection, queue: nil
        ) { [weak self, world] _ in
            guard let self else { return }
            // The notification does not wait for us.
            _ = world.startTask("account change") { await self.accountChanged() }
        }
    }

    /// Shows the note of the user who is signed in now, and syncs it.
    public func accountChanged() async {
        await inTurn { await self.noteAccount(isChanged: true) }
        await sync()
    }

    func noteAccount(isChanged: Bool = false) async {
        do {
            try await findAccount(isChanged: isChanged)
        } catch {
            await showError(error)
        }
        await showStep()
    }

    /// Asks for the account's state, and opens the file of its user.
    ///
    /// - Parameter isChanged: whether the user may differ from the one that the device knew.
    func findAccount(isChanged: Bool = false) async throws {
        if isOffline { return }
        do {
            let availability = try await container.accountStatus()
            if availability == .noAccount {
                try await open(noteOf: nil)
            } else if availability == .available, owner == nil || isChanged {
                try await open(noteOf: try await container.userRecordID().recordName)
            }
            show(availability)
        } catch let error as CKError where isChanged {
            // The user of this device is unknown now: the former user's note is not shown.
            try await open(noteOf: nil)
            show(.couldNotDetermine)
            throw error
        }
    }

    private func open(noteOf next: String?) async throws {
        guard next != owner else { return }
        let former = note
        // First, so that nothing is typed after the check.
        await former.retire()
        // Unsent text is kept for the user who wrote it, and no other user sees it.
        let keepsFile = await former.copy.isUnsaved
        if owner != nil, !keepsFile { try NoteFile(folder: folder, owner: owner).remove() }
        note = try Self.note(of: next, folder, container, version, world)
        owner = next
        await note.setDelegate(self)
        if await former.copy.text != note.copy.text { await cloudKitNoteChanged(note) }
    }

    /// Adopts a note from before the sign-in; if the user has one too, the later one is shown, and the other kept.
    private static func adoptLocalNote(of folder: String, in file: NoteFile) throws {
        let localFile = NoteFile(folder: folder, owner: nil)
        let local = try localFile.read()
        if let modified = local.modifiedMilliseconds {
            var own = try file.read()
            if own.modifiedMilliseconds.map({ $0 < modified }) ?? true {
                // Also a text that was sent: the next save replaces it in the cloud, without a conflict.
                if own.modifiedMilliseconds != nil, own.text != local.text {
                    own.overruled = own.text
                }
                own.text = local.text
                own.modifiedMilliseconds = modified
                own.isUnsaved = true
            } else if own.text != local.text {
                own.overruled = local.text
            }
            // If the process is killed between this and the removal, the next call does the same again.
            try file.write(own)
        }
        try localFile.remove()
    }

    // MARK: Signing out

    /// Sends what is pending, and removes the note from the device; call it before the sign-out.
    ///
    /// - Parameter anyway: whether to discard what cannot be sent.
    /// - Returns: whether the note was removed; false if something is still pending.
    public func prepareSignOut(anyway: Bool) async throws -> Bool {
        await sync(fetching: false)
        guard await note.retire(keepingUnsaved: !anyway) else { return false }
        try NoteFile(folder: folder, owner: owner).remove()
        return true
    }
}

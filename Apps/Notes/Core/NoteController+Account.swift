import CloudKit
import StratusRuntime

// Whose note it is: each person has a file of their own, and one is for before anybody signs in.
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

    /// Hears that somebody signs in or out. On Apple's platforms there is one account, and the object is nil.
    func observeAccount() {
        observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: container.connection, queue: nil
        ) { [weak self, world] _ in
            guard let self else { return }
            // The notification does not wait for us.
            _ = world.startTask("account change") { await self.accountChanged() }
        }
    }

    /// Shows the note of whoever is signed in now, and brings it in step.
    public func accountChanged() async {
        await inTurn { await self.noteAccount(isChanged: true) }
        await sync()
    }

    func noteAccount(isChanged: Bool = false) async {
        do {
            try await findAccount(isChanged: isChanged)
        } catch {
            await tell(error)
        }
        await showStep()
    }

    /// Asks for the account's state, and opens the file of its user.
    ///
    /// - Parameter isChanged: whether the user may be another one than the device knew.
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
            // Nobody knows whose device this is now: the former person's note is not shown.
            try await open(noteOf: nil)
            show(.couldNotDetermine)
            throw error
        }
    }

    private func open(noteOf next: String?) async throws {
        guard next != owner else { return }
        let former = note
        // What was not sent stays for the person who wrote it, and is seen by nobody else.
        let keepsFile = await former.copy.isUnsaved
        await former.retire()
        if owner != nil, !keepsFile { try NoteFile(folder: folder, owner: owner).remove() }
        note = try Self.note(of: next, folder, container, version, world)
        owner = next
        await note.setDelegate(self)
        if await former.copy.text != note.copy.text { await cloudKitNoteChanged(note) }
    }

    /// A note of before the sign-in becomes the person's; of two the later one is shown, and the other kept.
    private static func adoptLocalNote(of folder: String, in file: NoteFile) throws {
        let localFile = NoteFile(folder: folder, owner: nil)
        let local = try localFile.read()
        if let modified = local.modifiedMilliseconds {
            var own = try file.read()
            if own.modifiedMilliseconds.map({ $0 < modified }) ?? true {
                if own.isUnsaved, own.text != local.text { own.overruled = own.text }
                own.text = local.text
                own.modifiedMilliseconds = modified
                own.isUnsaved = true
            } else if own.text != local.text {
                own.overruled = local.text
            }
            // Killed between the two, the same is done again.
            try file.write(own)
        }
        try localFile.remove()
    }

    // MARK: Signing out

    /// Sends what waits, and takes the note from the device; call it before the account goes.
    ///
    /// - Parameter anyway: whether what cannot be sent is lost.
    /// - Returns: whether it was done; false if something still waits.
    public func prepareSignOut(anyway: Bool) async throws -> Bool {
        await sync(fetching: false)
        guard await !note.copy.isUnsaved || anyway else { return false }
        await note.retire()
        try NoteFile(folder: folder, owner: owner).remove()
        return true
    }
}

import CloudKit
import StratusRuntime

/// The app without its screen: takes what the user types, and syncs the note with the cloud.
///
/// Requests to the service run one after the other; typing never waits for them.
public actor NoteController: CloudKitNoteDelegate {
    /// Seconds from a keystroke to the save that includes it.
    public static let typingSeconds: Double = 2
    private static let backoff = Backoff(firstSeconds: 2, longestSeconds: 60)

    public enum Event: Hashable, Sendable {
        /// Another device's text is shown from now on.
        case textChanged(String)
        case statusChanged(NoteStatus)
    }

    public nonisolated let container: CKContainer
    /// What changed for the screen; it has one reader.
    public nonisolated let events: AsyncStream<Event>
    let folder: String
    let version: Int
    let world: World
    private let report: AsyncStream<Event>.Continuation
    private var typing: TypingTimer?
    private var backoff = NoteController.backoff
    private var retry: Task<Void, Never>?
    private var lastWork: Task<Void, Never>?
    private var isClosed = false
    /// Keeps the observer of account changes until the app is closed.
    var observer: (any NSObjectProtocol)?
    var owner: String?
    var note: CloudKitNote
    public private(set) var isOffline = false
    public private(set) var status = NoteStatus() {
        didSet { if status != oldValue { report.yield(.statusChanged(status)) } }
    }

    /// - Parameters:
    ///   - folder: used only by this app, by one process at a time.
    ///   - owner: who is signed in, if the device knows without a network; nil asks the service.
    ///   - version: of the form in which this app writes notes.
    public init(
        container: CKContainer, folder: String, owner: String? = nil, version: Int = 1,
        world: World = .live
    ) throws {
        self.container = container
        self.folder = folder
        self.owner = owner
        self.version = version
        self.world = world
        (events, report) = AsyncStream.makeStream()
        note = try Self.note(of: owner, folder, container, version, world)
    }

    // MARK: The app's life

    /// Begins syncing: sends what is pending, and fetches what others changed.
    public func start() async {
        typing = TypingTimer(seconds: Self.typingSeconds, world: world) { [weak self] in
            await self?.sync(fetching: false)
        }
        await note.setDelegate(self)
        observeAccount()
        await inTurn { await self.noteAccount() }
        await sync()
    }

    /// Closes the app. Typed text is on disk already; it is also sent now if that takes no longer than this.
    public func close(withinSeconds seconds: Double = 2) async {
        await typing?.stop()
        if await note.copy.isUnsaved, !isOffline, status.availability == .available {
            let (waiting, end) = AsyncStream.makeStream(of: Void.self)
            _ = world.startTask("last save") {
                await self.sync(fetching: false)
                end.finish()
            }
            _ = world.startTask("patience") { [world] in
                // The task is never cancelled, so the sleep ends at its time.
                try? await world.sleep(seconds)
                end.finish()
            }
            for await _ in waiting {}
        }
        isClosed = true
        retry?.cancel()
        observer.map(NotificationCenter.default.removeObserver)
        await note.retire()
        report.finish()
    }

    public var text: String { get async { await note.copy.text } }
    public var copy: NoteCopy { get async { await note.copy } }

    // MARK: What the person does

    /// Takes the whole current text. It is written to disk immediately, and sent to the cloud when the typing pauses.
    ///
    /// - Throws: the file system's error; the note is then unchanged.
    public func type(_ text: String) async throws {
        try await note.edit(text)
        await noteTyped()
    }

    /// Adds a line to the text, whatever it is by then; otherwise like ``type(_:)``.
    public func append(_ line: String) async throws {
        try await note.append(line)
        await noteTyped()
    }

    private func noteTyped() async {
        await showStep()
        await typing?.touch()
    }

    public func setOffline(_ isOffline: Bool) async {
        self.isOffline = isOffline
        retry?.cancel()
        if isOffline {
            status.error = nil
            await showStep()
        } else {
            await sync()
        }
    }

    /// Sends what is pending, then fetches the changes of other devices.
    public func sync() async { await sync(fetching: true) }

    // MARK: Syncing

    func sync(fetching: Bool) async {
        await inTurn { await self.synchronize(fetching: fetching) }
    }

    /// Runs pieces of work one after the other.
    func inTurn(_ work: @escaping @Sendable () async -> Void) async {
        let former = lastWork
        let task = world.startTask("notes") {
            await former?.value
            await work()
        }
        lastWork = task
        await task.value
    }

    private func synchronize(fetching: Bool) async {
        guard !isClosed, !isOffline else { return }
        retry?.cancel()
        do {
            if status.availability != .available { try await findAccount() }
            guard status.availability == .available else { return await showStep() }
            if await note.copy.isUnsaved {
                status.step = .saving
                try await note.save()
            }
            if fetching {
                let isKnown = await note.copy.isKnown
                if isKnown { try await note.fetchChanges() } else { try await note.load() }
            }
            status.error = nil
            backoff.reset()
        } catch {
            await showError(error)
        }
        await showStep()
    }

    /// Shows an error, and tries again if that may help.
    func showError(_ error: any Error) async {
        let trouble = NoteTrouble(error)
        status.error = trouble.sentence
        if status.availability == nil { status.availability = .couldNotDetermine }
        if case CKError.notAuthenticated = error { status.availability = .temporarilyUnavailable }
        guard let seconds = trouble.retryAfterSeconds, !isClosed else { return }
        let wait = max(seconds, backoff.nextSeconds(random: world.random()))
        retry = world.startTask("retry") { [weak self, world] in
            // A sync that starts earlier cancels this retry: then there is nothing to do.
            guard (try? await world.sleep(wait)) != nil else { return }
            await self?.sync()
        }
    }

    func showStep() async {
        let copy = await note.copy
        var next = status
        next.wasRemoved = copy.wasRemoved
        if isOffline {
            next.step = .offline
        } else if copy.isUnsaved {
            next.step = .waiting
        } else {
            next.step = copy.systemFields == nil ? .local : .saved
        }
        status = next
    }

    func show(_ availability: CKAccountStatus) { status.availability = availability }

    public func cloudKitNoteChanged(_ note: CloudKitNote) async {
        guard note === self.note else { return }
        report.yield(.textChanged(await note.copy.text))
    }
}

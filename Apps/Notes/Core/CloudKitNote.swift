import CloudKit
import StratusRuntime

/// An error of a note that does not come from the service.
public enum CloudKitNoteError: Error {
    case noteNotFound
    /// A newer version of the app wrote the note: this one neither shows nor overwrites it.
    case newerVersionAvailable
    case unexpected
}

/// Receives changes from other devices.
public protocol CloudKitNoteDelegate: AnyObject, Sendable {
    func cloudKitNoteChanged(_ note: CloudKitNote) async
}

/// The note: its text on this device, and syncing with the one in the cloud.
///
/// Everything works on the device's copy, with a network or without. ``load()``, ``save()`` and ``fetchChanges()``
/// sync the two; call one of them at a time.
public actor CloudKitNote {
    public static let recordName = "note"

    let database: CloudKitNoteDatabase
    let file: NoteFile
    let version: Int
    private let world: World
    private var subscribing: Task<Void, Never>?
    private var isRetired = false
    private(set) weak var delegate: (any CloudKitNoteDelegate)?
    /// The content of this device's file.
    public private(set) var copy: NoteCopy
    /// Changes that ``fetchChanges()`` has brought.
    private(set) var receivedCount = 0

    /// - Parameters:
    ///   - version: of the form in which this app writes notes.
    /// - Throws: the file system's error.
    public init(
        database: CloudKitNoteDatabase, file: NoteFile, version: Int = 1, world: World = .live
    ) throws {
        self.database = database
        self.file = file
        self.version = version
        self.world = world
        copy = try file.read()
    }

    public func setDelegate(_ delegate: any CloudKitNoteDelegate) { self.delegate = delegate }

    // MARK: The device's copy

    /// Keeps what the user has typed; ``save()`` sends it.
    ///
    /// - Throws: the file system's error, or `unexpected` when the note has been retired meanwhile.
    public func edit(_ text: String) throws {
        guard !isRetired else { throw CloudKitNoteError.unexpected }
        var next = copy
        next.text = text
        // Later than what was seen, also on a device whose clock is slow.
        next.modifiedMilliseconds = max(
            world.nowMilliseconds(), copy.modifiedMilliseconds.map { $0 + 1 } ?? 0)
        next.isUnsaved = true
        try keep(next)
    }

    /// Adds a line to the current text, also to one that another device sent a moment ago; see ``edit(_:)``.
    public func append(_ line: String) throws {
        try edit(copy.text.isEmpty ? line : copy.text + "\n" + line)
    }

    /// Written to the disk first, so that a restart never shows less than what was shown before.
    func keep(_ next: NoteCopy) throws {
        guard next != copy, !isRetired else { return }
        try file.write(next)
        copy = next
    }

    /// Ends this note: typing throws from now on, and answers that arrive later change nothing on the device.
    ///
    /// - Parameter keepingUnsaved: whether a note with text that has not been sent goes on instead.
    /// - Returns: whether the note has ended.
    @discardableResult
    public func retire(keepingUnsaved: Bool = false) -> Bool {
        guard !keepingUnsaved || !copy.isUnsaved else { return false }
        isRetired = true
        subscribing?.cancel()
        return true
    }

    /// Saves the subscription once, after the first record.
    ///
    /// No caller waits for it: it is retried until the service accepts it.
    func subscribeOnce() {
        guard !copy.isSubscribed, subscribing == nil else { return }
        subscribing = world.startTask("subscription") { await self.subscribe() }
    }

    private func subscribe() async {
        defer { subscribing = nil }
        do {
            try await database.saveSubscription()
            var next = copy
            next.isSubscribed = true
            try keep(next)
        } catch {
            // The next save tries again. Until then this device gets no pushes, and changes are
            // fetched at the start and by request.
        }
    }

    // MARK: From a record to the note

    /// The text and the time of its edit.
    ///
    /// - Throws: ``CloudKitNoteError``, or the error of reading the asset's file.
    func content(of record: CKRecord) throws -> (text: String, modifiedMilliseconds: Int64) {
        try checkVersion(of: record)
        guard let asset = record["text"] as? CKAsset, let url = asset.fileURL else {
            throw CloudKitNoteError.noteNotFound
        }
        let modified = record["modified"] as? Date ?? .distantPast
        return (try String(contentsOf: url, encoding: .utf8), modified.milliseconds)
    }

    /// A person's devices are not updated at the same time: one with an older app does not change
    /// the note.
    func checkVersion(of record: CKRecord) throws {
        guard let written = record["version"] as? Int else { throw CloudKitNoteError.unexpected }
        guard written <= version else { throw CloudKitNoteError.newerVersionAvailable }
    }

    /// Adopts the service's text, unless newer text was typed here.
    ///
    /// - Parameter token: covers the record; kept with it in one write.
    func adopt(_ record: CKRecord, upTo token: CKServerChangeToken? = nil) async throws {
        let (text, modified) = try content(of: record)
        let former = copy
        var next = copy
        next.systemFields = record.systemFields
        next.wasRemoved = false
        if let token { next.changeToken = token.archived }
        if !copy.isUnsaved || modified >= copy.modifiedMilliseconds ?? .min {
            if copy.isUnsaved, copy.text != text { next.overruled = copy.text }
            next.text = text
            next.modifiedMilliseconds = modified
            next.isUnsaved = false
        } else if copy.text != text,
            copy.systemFields?.record?.recordChangeTag != record.recordChangeTag
        {
            next.overruled = text
        }
        try keep(next)
        if next.text != former.text { await delegate?.cloudKitNoteChanged(self) }
    }

    // MARK: From the cloud

    /// Fetches the note by its name. A missing note is not an error: no device has saved one yet.
    public func load() async throws {
        do {
            try await adopt(try await database.loadRecord(name: Self.recordName))
        } catch let error as CKError where error.isRecordNotFound() {
            // No device has saved a note yet, or it was deleted.
            try forgetRecord()
        }
    }

    /// Fetches what changed since the last time: pushes may be dropped, and only say that something changed.
    public func fetchChanges() async throws {
        let changes: CloudKitNoteDatabase.Changes
        let token = copy.token
        var isComplete = token == nil
        do {
            changes = try await database.fetchChanges(since: token)
        } catch let error as CKError where error.isChangeTokenExpired() {
            // The device was away too long: everything is fetched.
            isComplete = true
            changes = try await database.fetchChanges(since: nil)
        } catch let error as CKError where error.isZoneNotFound() {
            // Without the zone there is no note.
            return try forgetRecord()
        }
        receivedCount += changes.records.count + changes.deletedRecordIDs.count
        let recordID = CKRecord.ID(recordName: Self.recordName, zoneID: database.zoneID)
        if let record = changes.records.last(where: { $0.recordID == recordID }) {
            try await adopt(record, upTo: changes.token)
        } else {
            if isComplete || changes.deletedRecordIDs.contains(recordID) { try forgetRecord() }
            var next = copy
            next.changeToken = changes.token?.archived
            try keep(next)
        }
    }

    /// Forgets the record of a note that is not in the cloud: the text stays here, and is sent again with the next
    /// edit.
    private func forgetRecord() throws {
        var next = copy
        next.wasRemoved = copy.wasRemoved || copy.systemFields != nil
        next.systemFields = nil
        next.changeToken = nil
        next.isSubscribed = false
        try keep(next)
    }
}

extension Date {
    /// The service stores dates in milliseconds.
    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }

    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}

import AppDevice
import CloudKit

/// The state of the note on a device, in one file, so that all parts of it are equally old.
public struct NoteCopy: Codable, Hashable, Sendable {
    public var text = ""
    /// When the text was typed, on any device; nil before there is a note.
    public var modifiedMilliseconds: Int64?
    public var modified: Date? { modifiedMilliseconds.map(Date.init(milliseconds:)) }
    /// Whether the text has not been sent yet.
    public var isUnsaved = false
    /// The overruled text of a conflict that this device resolved.
    public var overruled: String?
    /// The record without its fields, as the service last returned it; a save needs it to detect conflicts.
    var systemFields: Data?
    /// The change token of the zone.
    var changeToken: Data?
    /// Whether this device has subscribed the user's devices to pushes.
    public var isSubscribed = false
    /// Whether the note was in the cloud and was removed there.
    public var wasRemoved = false

    /// Whether the service has the note, as far as the device knows.
    var isKnown: Bool { systemFields != nil }
    var token: CKServerChangeToken? { changeToken.flatMap(\.token) }

    public init() {}
}

/// The file of one person's note on this device. A file is replaced in one step: a process that is killed leaves the
/// old content or the new one.
public struct NoteFile: Sendable {
    private let path: String

    /// - Parameters:
    ///   - folder: exists, and is used only by this app.
    ///   - owner: whose note; nil before a user has signed in.
    public init(folder: String, owner: String?) {
        path = folder + "/note" + (owner.map { "-" + LockedFolder.fileName($0) } ?? "") + ".json"
    }

    /// - Returns: an empty copy if there is no file.
    public func read() throws -> NoteCopy {
        guard FileManager.default.fileExists(atPath: path) else { return NoteCopy() }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try JSONDecoder().decode(NoteCopy.self, from: data)
    }

    public func write(_ copy: NoteCopy) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try encoder.encode(copy).writePrivately(to: path)
    }

    /// Removes the note, and all that belongs to it, from the device.
    public func remove() throws {
        removeUpload()
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }

    // MARK: The asset's file

    private var uploadPath: String { path + ".upload" }

    func writeUpload(_ text: String) throws -> URL {
        try Data(text.utf8).writePrivately(to: uploadPath)
        return URL(fileURLWithPath: uploadPath)
    }

    func removeUpload() {
        // A file that cannot be removed is overwritten by the next save, or stays as an unused copy
        // of the note's own text.
        try? FileManager.default.removeItem(atPath: uploadPath)
    }
}

extension CKRecord {
    var systemFields: Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }
}

extension CKServerChangeToken {
    var archived: Data? {
        // If the token cannot be archived, everything is fetched the next time.
        try? NSKeyedArchiver.archivedData(withRootObject: self, requiringSecureCoding: true)
    }
}

extension Data {
    var record: CKRecord? {
        // Without a readable archive the record is fetched by its name.
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: self) else { return nil }
        coder.requiresSecureCoding = true
        return CKRecord(coder: coder)
    }

    var token: CKServerChangeToken? {
        // Without a readable token everything is fetched.
        try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: self)
    }
}

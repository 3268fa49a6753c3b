import Foundation
import StratusRecords
import StratusRuntime

/// Stores each key in a file that only its user can read (mode 0600), in a folder of its own
/// (0700).
///
/// The keys are not encrypted: anyone who can read the user's files can read them. Keep the folder
/// out of backups that others can read.
public final class FileKeyStore: CloudKeyStore {
    private enum Kind: String {
        case key
        case keyring
        case fields
        case signIn = "sign-in"

        /// The prefix of a file of any format; the format's number and a space follow.
        var prefix: String { "stratus-\(rawValue)-" }
        /// The format of new files. Format 2 of a sign-in has a checksum.
        var format: Int { self == .signIn ? 2 : 1 }
        var header: String { prefix + "\(format) " }
        /// The headers of the files that can be read.
        var headers: [String] { (1...format).map { prefix + "\($0) " } }

        /// Whether a newer release wrote the file.
        func isNewer(_ text: Data) -> Bool {
            guard text.starts(with: Data(prefix.utf8)) else { return false }
            let number = text.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: " ") }
            return (Int(String(decoding: number, as: UTF8.self)) ?? 0) > format
        }
    }

    private static let writableSentence =
        "The folder of keys cannot be written; make it writable for its user."

    private let folder: URL
    /// Makes the names in a folder durable, as `fsync` does the content of a file.
    private let synchronize: @Sendable (_ folder: URL) throws -> Void

    /// - Parameter folder: created with the first key. By default `$XDG_DATA_HOME/stratus/keys`,
    ///   else `~/.local/share/stratus/keys`.
    public convenience init(folder: URL? = nil) {
        self.init(
            folder: folder ?? Self.dataFolder.appendingPathComponent("keys"),
            synchronize: Self.synchronize)
    }

    /// The folder in which this user's programs store Stratus's data.
    static var dataFolder: URL {
        let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].map {
            URL(fileURLWithPath: $0)
        }
        return
            (data
            ?? FileManager.default.homeDirectoryForCurrentUser
            .appendingPathComponent(".local/share")).appendingPathComponent("stratus")
    }

    init(folder: URL, synchronize: @escaping @Sendable (URL) throws -> Void) {
        self.folder = folder
        self.synchronize = synchronize
    }

    // MARK: Keys

    public func key(for account: CloudKeyAccount) throws -> [UInt8]? {
        try read(
            .key, account,
            "The file of keys is damaged; import the recovery key to replace it.")
    }

    public func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8] {
        let url = url(.key, account)
        let isNew = try write(key, .key, account) { draft in
            // `link` fails when the name exists, and the name never refers to a partly written
            // file.
            guard link(draft, url.path) != 0 else { return true }
            guard errno == EEXIST else { throw Self.unwritable(url) }
            return false
        }
        if isNew { return key }
        guard let kept = try self.key(for: account) else { throw Self.unwritable(url) }
        return kept
    }

    public func removeKey(for account: CloudKeyAccount) throws {
        let urls = [url(.key, account), url(.keyring, account)]
        try attempt(Self.writableSentence, urls[0]) {
            guard FileManager.default.fileExists(atPath: folder.path) else { return }
            // Also removes drafts that a loss of power left behind.
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where urls.contains(where: {
                name == $0.lastPathComponent || name.hasPrefix($0.lastPathComponent + "+")
            }) {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            try synchronize(folder)
        }
    }

    // MARK: The keyring

    public func keyring(for account: CloudKeyAccount) throws -> [UInt8]? {
        try read(.keyring, account, "The copy of the keyring is damaged; remove it.")
    }

    public func keepKeyring(_ keyring: [UInt8], for account: CloudKeyAccount) throws {
        let url = url(.keyring, account)
        try write(keyring, .keyring, account) { draft in
            guard rename(draft, url.path) == 0 else { throw Self.unwritable(url) }
        }
    }

    // MARK: Encrypted fields

    // The file has a line for each field: its type and its key, separated by a space, which neither
    // name can contain.

    public func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) throws -> Set<EncryptedField> {
        try fields(url(.fields, [container, environment.rawValue]))
    }

    public func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) throws {
        let url = url(.fields, [container, environment.rawValue])
        try locked(url) {
            let all = try self.fields(url).union(fields)
            let lines = all.map { "\($0.recordType) \($0.key)\n" }.sorted().joined()
            try write(Array(lines.utf8), .fields, url) { draft in
                guard rename(draft, url.path) == 0 else { throw Self.unwritable(url) }
            }
        }
    }

    private func fields(_ url: URL) throws -> Set<EncryptedField> {
        let damaged = "The list of encrypted fields is damaged; remove it, and it is recreated."
        guard let bytes = try read(.fields, url, damaged) else { return [] }
        var fields: Set<EncryptedField> = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let names = line.split(separator: " ").map(String.init)
            guard names.count == 2 else {
                throw CloudKeyStoreError(sentence: damaged, path: url.path)
            }
            fields.insert(EncryptedField(recordType: names[0], key: names[1]))
        }
        return fields
    }

    // MARK: Sign-ins

    // The file has four lines: the sign-in's identifier, the user's record name, the token and their checksum.

    public func signIn(at place: CloudSignInPlace) throws -> KeptSignIn? {
        let url = url(.signIn, place.fileNameParts)
        let damaged = "The file of the sign-in is damaged; remove it, and sign in again."
        guard let (bytes, format) = try content(.signIn, url, damaged) else { return nil }
        guard let signIn = KeptSignIn(bytes: bytes, hasChecksum: format > 1) else {
            throw CloudKeyStoreError(sentence: damaged, path: url.path)
        }
        return signIn
    }

    public func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {
        let url = url(.signIn, place.fileNameParts)
        guard let bytes = signIn.bytes else {
            throw CloudKeyStoreError(
                sentence: "A value of the sign-in is empty or has several lines, so the sign-in was"
                    + " not stored; sign in again.", path: url.path)
        }
        try write(bytes, .signIn, url) { draft in
            guard rename(draft, url.path) == 0 else { throw Self.unwritable(url) }
        }
    }

    public func renewSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {
        let url = url(.signIn, place.fileNameParts)
        try locked(url) {
            guard try self.signIn(at: place)?.id == signIn.id else { return }
            try keepSignIn(signIn, at: place)
        }
    }

    public func removeSignIn(at place: CloudSignInPlace) throws {
        let url = url(.signIn, place.fileNameParts)
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        try locked(url) {
            guard unlink(url.path) == 0 || errno == ENOENT else { throw Self.unwritable(url) }
            try synchronize(folder)
        }
    }

    // MARK: Files

    /// Runs a body that reads and then writes, in one process at a time.
    private func locked(_ url: URL, _ body: () throws -> Void) throws {
        try attempt(Self.writableSentence, url) {
            try makeFolder()
            let lock = try FileLock(waitingFor: folder.path, O_RDONLY | O_DIRECTORY) { _ in
                Self.unwritable(url)
            }
            try lock.whileLocked { _ in try body() }
        }
    }

    private func read(
        _ kind: Kind, _ account: CloudKeyAccount, _ whenDamaged: String
    ) throws -> [UInt8]? {
        try read(kind, url(kind, account), whenDamaged)
    }

    private func read(_ kind: Kind, _ url: URL, _ whenDamaged: String) throws -> [UInt8]? {
        try content(kind, url, whenDamaged)?.bytes
    }

    private func content(
        _ kind: Kind, _ url: URL, _ whenDamaged: String
    ) throws -> (bytes: [UInt8], format: Int)? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        // The file of fields has only names, so access by others is removed rather than reported.
        if kind == .fields { DeviceFile.tighten(url.path) }
        let text = try attempt(
            "The file of keys cannot be read; make it readable for its user.", url
        ) {
            let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
            guard let mode = attributes[.posixPermissions] as? NSNumber, mode.intValue & 0o077 == 0
            else {
                throw CloudKeyStoreError(
                    sentence:
                        "Others may read the file of keys; remove their access"
                        + " (chmod 600).",
                    path: url.path)
            }
            return try Data(contentsOf: url)
        }
        if kind.isNewer(text) {
            throw CloudKeyStoreError(
                sentence: "A newer release wrote the file of keys, and this one reads format"
                    + " \(kind.format). Update the app.", path: url.path)
        }
        let headers = kind.headers.map { Data($0.utf8) }
        guard let index = headers.firstIndex(where: { text.starts(with: $0) }),
            let bytes = Base64.bytes(
                String(decoding: text.dropFirst(headers[index].count), as: UTF8.self)
                    .trimmingCharacters(in: .whitespacesAndNewlines))
        else { throw CloudKeyStoreError(sentence: whenDamaged, path: url.path) }
        return (bytes, index + 1)
    }

    /// Writes a draft, flushes it to the disk, and lets `place` move it to its name. The draft is
    /// removed even if a step fails.
    private func write<Value>(
        _ bytes: [UInt8], _ kind: Kind, _ account: CloudKeyAccount,
        place: (_ draft: String) throws -> Value
    ) throws -> Value {
        try write(bytes, kind, url(kind, account), place: place)
    }

    private func write<Value>(
        _ bytes: [UInt8], _ kind: Kind, _ url: URL, place: (_ draft: String) throws -> Value
    ) throws -> Value {
        try attempt(Self.writableSentence, url) {
            try makeFolder()
            var path = Array((url.path + "+XXXXXX").utf8CString)
            // A new file of mode 0600.
            let descriptor = mkstemp(&path)
            guard descriptor >= 0 else { throw Self.unwritable(url) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            let draft = String(
                decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let value: Value
            do {
                defer { unlink(draft) }
                let text = kind.header + Base64.text(bytes) + "\n"
                try handle.write(contentsOf: Data(text.utf8))
                try handle.synchronize()
                value = try place(draft)
            }
            try synchronize(folder)
            return value
        }
    }

    /// Creates the folder and its parents durably. Access by other users to an existing folder is
    /// removed.
    private func makeFolder() throws {
        defer { DeviceFile.tighten(folder.path, isFolder: true) }
        var missing: [URL] = []
        var url = folder
        while !FileManager.default.fileExists(atPath: url.path), url.path != "/" {
            missing.append(url)
            url = url.deletingLastPathComponent()
        }
        guard !missing.isEmpty else { return }
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for made in missing { try synchronize(made.deletingLastPathComponent()) }
    }

    @Sendable private static func synchronize(_ folder: URL) throws {
        let code = DurableFile.sync(folder.path)
        // A file system that cannot flush folders returns EINVAL.
        guard code == 0 || code == EINVAL else { throw unwritable(folder) }
    }

    /// The file's name: container, environment and user, with unsafe characters in hexadecimal.
    private func url(_ kind: Kind, _ account: CloudKeyAccount) -> URL {
        url(kind, [account.container, account.environment.rawValue, account.user])
    }

    private func url(_ kind: Kind, _ parts: [String]) -> URL {
        let name = parts.map { PercentEncoding.text($0) }.joined(separator: "+")
        return folder.appendingPathComponent("\(name).\(kind.rawValue)")
    }

    private static func unwritable(_ url: URL) -> CloudKeyStoreError {
        CloudKeyStoreError(sentence: writableSentence, path: url.path)
    }

    private func attempt<Value>(
        _ sentence: String, _ url: URL, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as CloudKeyStoreError {
            throw error
        } catch {
            throw CloudKeyStoreError(sentence: sentence, path: url.path, cause: error)
        }
    }
}

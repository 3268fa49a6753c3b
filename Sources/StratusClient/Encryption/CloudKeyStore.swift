import Foundation
import StratusRecords

/// Whose key: a user's, in one environment of one container.
public struct CloudKeyAccount: Hashable, Sendable {
    public var container: String
    public var environment: ContainerEnvironment
    /// The user's record name.
    public var user: String

    public init(container: String, environment: ContainerEnvironment, user: String) {
        self.container = container
        self.environment = environment
        self.user = user
    }
}

/// Where a device keeps the keys of encrypted values: the part of a keychain on Linux.
///
/// Give one of your own to a ``CloudConnection`` to keep them in a key service or in hardware.
public protocol CloudKeyStore: Sendable {
    /// - Returns: nil when the device has no key of this account.
    func key(for account: CloudKeyAccount) throws -> [UInt8]?

    /// Keeps a key unless there is one already.
    ///
    /// - Returns: the key that is kept from now on. Of several calls at a time, also by other
    ///   processes, all get the same.
    func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8]

    /// Keeps a key in the place of the one that is there.
    func replaceKey(_ key: [UInt8], for account: CloudKeyAccount) throws
}

/// Why a key could not be read or kept.
public struct CloudKeyStoreError: Error, Sendable {
    /// A constant sentence that says what to do.
    public var sentence: String
    public var path: String
    public var cause: (any Error)?
}

/// Keeps each key in a file that its user alone may read (mode 0600), in a folder of its own (0700).
///
/// Encrypted no further: who can read the user's files can read the keys. Keep the folder out of
/// backups that others can read.
public final class FileKeyStore: CloudKeyStore {
    private static let header = "stratus-key-1 "
    private let folder: URL

    /// - Parameter folder: made at the first key. By default `$XDG_DATA_HOME/stratus/keys`, else
    ///   `~/.local/share/stratus/keys`.
    public init(folder: URL? = nil) {
        self.folder = folder ?? Self.dataFolder.appendingPathComponent("keys")
    }

    /// Where this user's programs keep what Stratus needs.
    static var dataFolder: URL {
        let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].map {
            URL(fileURLWithPath: $0)
        }
        return
            (data
            ?? FileManager.default.homeDirectoryForCurrentUser
            .appendingPathComponent(".local/share")).appendingPathComponent("stratus")
    }

    public func key(for account: CloudKeyAccount) throws -> [UInt8]? {
        let url = url(of: account)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let mode = try attempt("Make the file of keys readable for its user.", url) {
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions]
        }
        guard let mode = mode as? NSNumber, mode.intValue & 0o077 == 0 else {
            throw CloudKeyStoreError(
                sentence: "Take the rights of others from the file of keys (chmod 600).",
                path: url.path)
        }
        let text = try attempt("Make the file of keys readable for its user.", url) {
            try String(contentsOf: url, encoding: .utf8)
        }
        guard text.hasPrefix(Self.header),
            let key = Data(
                base64Encoded: text.dropFirst(Self.header.count)
                    .trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            throw CloudKeyStoreError(
                sentence: "Replace the damaged file of keys: import the recovery key.",
                path: url.path)
        }
        return [UInt8](key)
    }

    public func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8] {
        let url = url(of: account)
        let draft = try write(key, beside: url)
        // A link fails when its name exists, and never shows a file half written.
        let isNew = link(draft.path, url.path) == 0
        let code = errno
        try attempt("Make the folder of keys writable for its user.", url) {
            try FileManager.default.removeItem(at: draft)
        }
        if isNew { return key }
        guard code == EEXIST, let kept = try self.key(for: account) else {
            throw CloudKeyStoreError(
                sentence: "Make the folder of keys writable for its user.", path: url.path)
        }
        return kept
    }

    public func replaceKey(_ key: [UInt8], for account: CloudKeyAccount) throws {
        let url = url(of: account)
        let draft = try write(key, beside: url)
        guard rename(draft.path, url.path) == 0 else {
            throw CloudKeyStoreError(
                sentence: "Make the folder of keys writable for its user.", path: url.path)
        }
    }

    /// Writes a file of another name, flushed to the disk.
    private func write(_ key: [UInt8], beside url: URL) throws -> URL {
        let text = Self.header + Data(key).base64EncodedString() + "\n"
        return try attempt("Make the folder of keys writable for its user.", url) {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            var path = Array((url.path + ".XXXXXX").utf8CString)
            // A file that nobody else has, of mode 0600.
            let descriptor = mkstemp(&path)
            guard descriptor >= 0 else {
                throw CloudKeyStoreError(
                    sentence: "Make the folder of keys writable for its user.", path: url.path)
            }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: Data(text.utf8))
            try handle.synchronize()
            let name = path.dropLast().map { UInt8(bitPattern: $0) }
            return URL(fileURLWithPath: String(decoding: name, as: UTF8.self))
        }
    }

    /// Container, environment and user, with what no file name should have written as hexadecimals.
    private func url(of account: CloudKeyAccount) -> URL {
        let name = [account.container, account.environment.rawValue, account.user]
            .map(HTTPTransport.escaped).joined(separator: "+")
        return folder.appendingPathComponent(name + ".key")
    }

    private func attempt<Value>(_ sentence: String, _ url: URL, _ body: () throws -> Value) throws
        -> Value
    {
        do {
            return try body()
        } catch let error as CloudKeyStoreError {
            throw error
        } catch {
            throw CloudKeyStoreError(sentence: sentence, path: url.path, cause: error)
        }
    }
}

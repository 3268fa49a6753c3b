import Foundation
import StratusClient
import StratusRecords
import StratusRuntime

/// The folder with an app's data on one device, opened by one process at a time.
package final class LockedFolder: Sendable {
    /// Why the folder cannot be used, as a sentence.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package let path: String
    /// A random identifier of this device, stored in the folder.
    package let deviceID: String
    /// Open while the process lives; the system releases the lock when it ends.
    private let lock: FileLock

    /// - Returns: `stratus-` and the app's name, in `$XDG_DATA_HOME` or `~/.local/share`.
    package static func standardPath(app: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? NSHomeDirectory() + "/.local/share"
        return base + "/stratus-" + app
    }

    /// Opens the folder, and creates it if it does not exist; only its owner can access its files.
    ///
    /// - Parameter app: the app's name, for the error when another process has it open.
    package init(
        path: String, app: String, world: World = .live
    ) throws(Failure) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(
                description: "The folder \(path) cannot be created; name another one with --data.")
        }
        DeviceFile.tighten(path, isFolder: true)
        guard
            let lock = try FileLock(
                ifFree: path + "/lock", O_CREAT | O_RDWR,
                failure: { _ in
                    Failure(
                        description:
                            "The folder \(path) cannot be written; name another one with --data.")
                })
        else {
            throw Failure(
                description: "Another \(app) runs with the folder \(path); end it first, or name "
                    + "another folder with --data.")
        }
        self.lock = lock
        // An identifier that cannot be read is replaced by a new one; the device then counts as a
        // new one.
        let known = try? String(contentsOfFile: path + "/device", encoding: .utf8)
        if let known, !known.isEmpty {
            deviceID = known
            return
        }
        deviceID = world.makeUUID().uuidString
        do {
            try Data(deviceID.utf8).writePrivately(to: path + "/device")
        } catch {
            throw Failure(
                description: "The folder \(path) cannot be written; name another one with --data.")
        }
    }

    package var knownTokens: KnownTokens { KnownTokens(path: path + "/tokens.json") }

    /// A name as a part of a file's; no two names are the same file.
    package static func fileName(_ name: String) -> String {
        PercentEncoding.text(name) { byte in
            PercentEncoding.isAlphanumeric(byte) || byte == UInt8(ascii: "-")
        }
    }

    /// An app's container on this device. The sign-in is stored in the device's folder.
    ///
    /// - Parameter deviceName: the device's name unless `STRATUS_DEVICE_ID` gives another one; nil for no name.
    package func container(_ identifier: String, deviceName: String? = nil) -> CKContainer {
        var environment = ProcessInfo.processInfo.environment
        func given(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        // The service does not notify a device of its own changes: two devices with the same ID
        // would miss each other's changes.
        environment["STRATUS_DEVICE_ID"] = Self.connectionName(
            given("STRATUS_DEVICE_ID") ?? deviceName, deviceID)
        environment["STRATUS_KEY_FOLDER"] = keyFolder
        return CKContainer(
            identifier: identifier,
            connection: CloudConnection(environmentVariables: environment))
    }

    private var keyFolder: String {
        let given = ProcessInfo.processInfo.environment["STRATUS_KEY_FOLDER"] ?? ""
        return given.isEmpty ? path + "/keys" : given
    }

    /// Whether a user is signed in on this device, at any service.
    package var keepsSignIn: Bool {
        // Without a folder no user has signed in.
        let names = try? FileManager.default.contentsOfDirectory(atPath: keyFolder)
        return names?.contains { $0.hasSuffix(".sign-in") } == true
    }

    /// The device ID for the service; it begins with the name, for people who read a list of
    /// sessions.
    package static func connectionName(_ name: String?, _ deviceID: String) -> String {
        // The service accepts at most 255 bytes.
        let short = name.map { String(decoding: $0.utf8.prefix(150), as: UTF8.self) }
        return [short, deviceID].compactMap { $0 }.joined(separator: "-")
    }
}

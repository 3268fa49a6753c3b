import Foundation
import StratusRecords

/// The folder that holds everything, locked for one process.
///
/// ```
/// format                                        "stratus data 1"
/// lock                                          locked while a process has the folder
/// directory.sqlite
/// databases/<container>/<environment>/public.sqlite
/// databases/<container>/<environment>/<owner>.sqlite
/// ```
final class DataFolder: Sendable {
    private static let format = "stratus data 1\n"

    let path: String
    /// The open file that carries the lock. The system lets go of it when the process dies.
    private let lock: Int32

    /// Makes the folder when it is not there, and locks it.
    init(path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw StorageError.notWritable(path: path, underlying: error)
        }
        lock = try Self.lock(path + "/lock")
        do {
            try Self.checkFormat(path + "/format")
        } catch {
            close(lock)
            throw error
        }
    }

    deinit {
        close(lock)
    }

    var directoryFile: String { path + "/directory.sqlite" }

    /// The file of a database; its folder is made.
    func file(for address: DatabaseAddress) throws -> String {
        let folder = folder(of: address.containerAddress)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw StorageError.notWritable(path: folder, underlying: error)
        }
        return folder + "/" + FileName.of(address.tenant) + ".sqlite"
    }

    /// Every database that has a file.
    func databases() throws -> [DatabaseAddress] {
        var addresses: [DatabaseAddress] = []
        for encoded in try names(in: path + "/databases") {
            guard let container = FileName.decode(encoded) else { continue }
            for environment in ContainerEnvironment.allCases {
                let address = ContainerAddress(container: container, environment: environment)
                for file in try names(in: folder(of: address)) where file.hasSuffix(".sqlite") {
                    guard let tenant = FileName.tenant(String(file.dropLast(7))) else { continue }
                    addresses.append(DatabaseAddress(address, tenant))
                }
            }
        }
        return addresses
    }

    private func folder(of address: ContainerAddress) -> String {
        path + "/databases/" + FileName.encode(address.container) + "/"
            + address.environment.rawValue
    }

    private func names(in folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw StorageError.notWritable(path: folder, underlying: error)
        }
    }

    private static func lock(_ path: String) throws -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StorageError.translating(errno: errno, path: path) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(file)
            throw StorageError.translating(errno: code, path: path)
        }
        return file
    }

    /// Reads what the folder says about itself, or writes it into a new one.
    private static func checkFormat(_ path: String) throws {
        if let found = FileManager.default.contents(atPath: path) {
            guard found == Data(format.utf8) else {
                throw StorageError.unknownFormat(path: path)
            }
            return
        }
        do {
            try Data(format.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw StorageError.notWritable(path: path, underlying: error)
        }
    }
}

import Crypto
import Foundation
import StratusRecords
import StratusRuntime

/// The contents of a backup. Its file is written last: a folder without it is not a complete
/// backup.
package struct BackupManifest: Codable, Hashable, Sendable {
    package static let currentFormat = "stratus backup 1"
    static let fileName = "manifest.json"
    /// The folder of the copies, inside the backup's folder, with the layout of a data folder.
    static let dataName = "data"

    package struct File: Codable, Hashable, Sendable {
        /// The path below the folder of the copies.
        package var path: String
        package var sizeBytes: Int64
        /// Hexadecimal.
        package var sha256: String
    }

    /// A database that could not be copied.
    package struct Missing: Codable, Hashable, Sendable {
        package var path: String
        package var reason: String
    }

    package var format = currentFormat
    /// Milliseconds since 1970, when the backup began.
    package var beganMilliseconds: Int64
    package var files: [File] = []
    /// Empty, unless a file was damaged.
    package var missing: [Missing] = []

    /// Reads the manifest of a backup.
    ///
    /// - Throws: ``BackupRefusal`` when it is not there, or of another format.
    static func read(in backup: String) throws -> BackupManifest {
        guard let data = FileManager.default.contents(atPath: backup + "/" + fileName) else {
            throw BackupRefusal(
                "There is no complete backup at \(backup): its \(fileName), which is written last, is"
                    + " missing. Check the path, or use another backup.")
        }
        struct Format: Decodable { var format: String }
        do {
            let decoder = JSONDecoder()
            let found = try decoder.decode(Format.self, from: data).format
            guard found == currentFormat else {
                throw BackupRefusal(
                    "The backup at \(backup) has the format '\(found)', and this version of Stratus"
                        + " reads '\(currentFormat)'. Update Stratus.")
            }
            return try decoder.decode(BackupManifest.self, from: data)
        } catch let refusal as BackupRefusal {
            throw refusal
        } catch {
            throw BackupRefusal(
                "The \(fileName) of the backup at \(backup) is not valid. Use another backup.")
        }
    }

    /// Writes the manifest so that it exists completely or not at all.
    func write(in backup: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let path = backup + "/" + Self.fileName
        try DurableFile.replace(path, with: [UInt8](encoder.encode(self))) { code in
            BackupRefusal.unwritable(path, code)
        }
    }
}

/// Why a backup was not taken or not restored, and what to do.
package struct BackupRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) { self.description = description }

    static func unwritable(_ path: String, _ code: Int32 = errno) -> BackupRefusal {
        let reason = String(cString: strerror(code))
        return BackupRefusal(
            "\(path) cannot be read or written: \(reason). Free some space, or correct its permissions."
        )
    }
}

/// Files and folders that only their owner can access, and that are on the disk when a function
/// returns.
enum PrivateFile {
    /// Bytes that are read at a time.
    private static let pieceBytes = 1 << 20

    static func makeFolder(_ path: String) throws {
        if mkdir(path, 0o700) == 0 { return }
        var status = stat()
        guard errno == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BackupRefusal.unwritable(path)
        }
    }

    static func sync(_ path: String) throws {
        let code = DurableFile.sync(path)
        guard code == 0 else { throw BackupRefusal.unwritable(path, code) }
    }

    /// Copies a file that does not change. When it returns, the bytes are on the disk.
    static func copy(_ source: String, to destination: String) throws {
        let from = open(source, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { throw BackupRefusal.unwritable(source) }
        let reading = FileHandle(fileDescriptor: from, closeOnDealloc: true)
        let file = open(destination, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BackupRefusal.unwritable(destination) }
        let writing = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        while let piece = try reading.read(upToCount: pieceBytes), !piece.isEmpty {
            try writing.write(contentsOf: piece)
        }
        try writing.synchronize()
    }

    /// The size of a file and its SHA-256.
    static func digest(of path: String) throws -> (sizeBytes: Int64, sha256: String) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BackupRefusal.unwritable(path) }
        let reading = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var hash = SHA256()
        var size: Int64 = 0
        while let piece = try reading.read(upToCount: pieceBytes), !piece.isEmpty {
            hash.update(data: piece)
            size += Int64(piece.count)
        }
        return (size, Hexadecimal.text(hash.finalize()))
    }
}

import Foundation
import GRDB
import Logging
import StratusRuntime
import StratusSQLite

/// Opens a database's file beside its high-water mark, and refuses it when commits are missing.
///
/// | mark | file | |
/// |---|---|---|
/// | none | none or empty | a new database: the mark is on the disk before the file |
/// | none | there | from an earlier release, or a restored copy: gets a mark |
/// | no commits | none or empty | a new database whose creation was interrupted: created now |
/// | commits | none or empty | refused |
/// | there | there | refused when the file belongs to another database or has fewer commits |
struct MarkedOpening {
    let path: String
    /// The database's path in the data folder, without the ending.
    let address: String
    /// Whether other files need this one: then a missing file was lost, even if there is no mark. Nil for a file that
    /// no other one needs.
    let isNeeded: (@Sendable () throws -> Bool)?
    let limits: StorageLimits
    let world: World
    var reserve: DiskReserve?
    /// A statement for the size of the records, which must not grow while the disk is full.
    var recordBytes: String?
    let logger: Logger
    let format: @Sendable (FileIdentity) -> StoredFormat

    private var markPath: String { HighWaterMark.path(ofDatabase: path) }

    private var isMissing: Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_size == 0
    }

    func open() throws -> SQLiteFile {
        do {
            return try openMarked()
        } catch let refusal as LossRefusal {
            throw StorageError(refusal, path: path)
        }
    }

    private func openMarked() throws -> SQLiteFile {
        // Read before the database: another process may commit and raise the mark in between.
        var mark = try HighWaterMark.existing(at: markPath)
        let acknowledged = mark?.commits ?? 0
        if isMissing {
            if acknowledged > 0 { throw LossRefusal(.missing(acknowledged: acknowledged)) }
            if let isNeeded, try isNeeded() {
                throw LossRefusal(.missing(acknowledged: nil))
            }
            if mark == nil { mark = try makeMark(world.randomNumber(), commits: 0) }
        }
        let identity = FileIdentity(
            address: address, identifier: mark?.identifier ?? world.randomNumber())
        return try SQLiteFile(
            path: path, format: format(identity), limits: limits, reserve: reserve,
            recordBytes: recordBytes, logger: logger, work: WorkThread(world)
        ) { [mark] database in
            let mark = try verified(FileStamp.read(from: database), mark)
            if isNeeded != nil, mark.commits == 0 { try begin(database, mark) }
            return mark
        }
    }

    /// Waits until a file that others need is on the disk, before one of them is created.
    private func begin(_ database: Database, _ mark: HighWaterMark) throws {
        var count: UInt64?
        try database.inTransaction(.immediate) {
            count = try FileStamp.countCommit(in: database)
            return .commit
        }
        if let count, let errno = mark.raise(to: count) {
            throw StorageError.translating(errno: errno, path: path)
        }
    }

    private func verified(
        _ stamp: FileStamp, _ mark: HighWaterMark?
    ) throws -> HighWaterMark {
        guard stamp.identity.address == address else {
            throw LossRefusal(
                .otherAddress(found: stamp.identity.address, expected: address))
        }
        guard let mark else {
            return try makeMark(stamp.identity.identifier, commits: stamp.commits)
        }
        try mark.check(stamp)
        // A mark that is too low is not raised before the next commit: commits that are found in a log after a failed
        // synchronisation were not acknowledged, and may be missing at the next opening.
        return mark
    }

    private func makeMark(_ identifier: UInt64, commits: UInt64) throws -> HighWaterMark {
        if commits > 0 {
            logger.info(
                "A database had no high-water mark, as after a restore, and has one now.",
                metadata: ["path": "\(path)"])
        }
        return try HighWaterMark.make(at: markPath, identifier: identifier, commits: commits)
    }
}

extension MarkedOpening {
    /// Accepts the current state of the file: gives it a new identity and a matching mark, and begins a new history.
    ///
    /// - Returns: Nil when nothing is lost.
    func acceptLoss(
        beginHistory: @escaping @Sendable (Database) throws -> Void
    ) async throws -> AcceptedLoss? {
        do {
            try open().close()
            return nil
        } catch let error as StorageError {
            guard let refusal = error.underlying as? LossRefusal else { throw error }
            let identity = FileIdentity(address: address, identifier: world.randomNumber())
            let file = try SQLiteFile(
                path: path, format: format(identity), limits: limits, logger: logger,
                work: WorkThread(world)
            ) { _ in nil }
            let stamp = try await file.write { database in
                try FileStamp.write(identity, into: database)
                try beginHistory(database)
                return try FileStamp.read(from: database)
            }
            try file.close()
            // Replaced after the file was changed: if the power fails in between, the file is refused as before.
            try HighWaterMark.replace(
                at: markPath, identifier: stamp.identity.identifier, commits: stamp.commits)
            return AcceptedLoss(
                path: path, refusal: refusal.finding(path: path), commits: stamp.commits)
        }
    }
}

/// A loss that an operator accepted.
package struct AcceptedLoss: Hashable, Sendable, CustomStringConvertible {
    /// The database's file.
    package var path: String
    /// Why the file was refused.
    package var refusal: String
    /// The number of commits in the accepted database.
    package var commits: UInt64

    package var description: String {
        "accepted: \(path): \(refusal) It continues with \(commits) commits and a new history."
    }
}

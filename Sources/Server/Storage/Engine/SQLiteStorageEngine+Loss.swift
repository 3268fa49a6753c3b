import Foundation
import Logging
import StratusRecords
import StratusRuntime

extension SQLiteStorageEngine {
    /// Accepts the present state of a database that is refused because commits are missing.
    ///
    /// A missing file becomes an empty database. Works on the files, since an engine cannot be made for a folder whose
    /// directory is refused. A service may be running on the folder; it does not have such a database open.
    ///
    /// - Parameters:
    ///   - file: The path of the database's file; nil for all that are refused.
    ///   - path: The path of the data folder.
    /// - Returns: The accepted losses; empty when nothing is lost.
    /// - Throws: ``StorageError``, also for a file that is not in the folder or is damaged in another way.
    package static func acceptLosses(
        of file: String?, inFolder path: String, limits: StorageLimits = StorageLimits(),
        world: World = .live, logger: Logger = Logger(label: "stratus.storage")
    ) async throws -> [AcceptedLoss] {
        let folder = try DataFolder(path: path, isLocked: false)
        let marked = MarkedFolderFiles(
            folder: folder, limits: limits, world: world, logger: logger)
        let wanted = file.map(Self.standard)
        var accepted: [AcceptedLoss] = []
        var isKnown = file == nil
        let directory = marked.directory()
        if wanted == nil || Self.standard(directory.path) == wanted {
            isKnown = true
            if let loss = try await directory.acceptLoss(beginHistory: { _ in }) {
                accepted.append(loss)
            }
        }
        for address in try folder.databases(endingWith: DataFolder.fileEnding)
            + folder.missingDatabases()
        {
            let database = try marked.database(address)
            guard wanted == nil || Self.standard(database.path) == wanted else { continue }
            isKnown = true
            let loss = try await database.acceptLoss { database in
                try SQLiteTransaction(database, writing: WritingEpoch(EpochSource(world)))
                    .beginEpoch()
            }
            if let loss { accepted.append(loss) }
        }
        guard isKnown else {
            throw StorageError(
                .other,
                "The file is not a database of this data folder. Name one that stratus doctor prints.",
                path: file)
        }
        return accepted
    }

    private static func standard(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }
}

extension DataFolder {
    /// Databases whose mark has commits and whose file is missing.
    func missingDatabases() throws -> [DatabaseAddress] {
        try databases(endingWith: HighWaterMark.fileEnding).filter { address in
            guard access(path(of: address), F_OK) != 0 else { return false }
            do {
                let mark = try HighWaterMark.existing(
                    at: HighWaterMark.path(ofDatabase: path(of: address)))
                return (mark?.commits ?? 0) > 0
            } catch is LossRefusal {
                // A mark that cannot be read belonged to a database, which is missing.
                return true
            }
        }
    }
}

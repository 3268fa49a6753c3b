import Logging
import StratusRecords
import StratusRuntime

/// Opens the databases of a data folder, each beside its mark.
struct MarkedFolderFiles: Sendable {
    let folder: DataFolder
    let limits: StorageLimits
    let world: World
    var reserve: DiskReserve?
    let logger: Logger

    func directory() -> MarkedOpening {
        MarkedOpening(
            path: folder.directoryFile, address: "directory",
            isNeeded: { try !folder.databases(endingWith: DataFolder.fileEnding).isEmpty },
            limits: limits, world: world, reserve: reserve, logger: logger
        ) { [world] in DirectoryFile.format(world: world, identity: $0) }
    }

    func database(_ address: DatabaseAddress) throws -> MarkedOpening {
        let path = try folder.file(for: address)
        let name = DataFolder.path(of: address, in: "", ending: "").dropFirst()
        return MarkedOpening(
            path: path, address: String(name), isNeeded: nil, limits: limits, world: world,
            reserve: reserve, recordBytes: RecordFile.recordBytes, logger: logger
        ) { [world] in RecordFile.format(world: world, identity: $0) }
    }
}

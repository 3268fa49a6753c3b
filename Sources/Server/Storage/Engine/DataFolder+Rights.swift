import Foundation

extension DataFolder {
    /// The names in a data folder. Files that an operator puts beside them are not checked.
    private static let ownNames = [
        "format", "lock", "reserve", "reserve.try", "incoming", "partial", "databases",
        "directory.sqlite",
        "directory.sqlite-wal", "directory.sqlite-shm", "directory.mark",
    ]

    /// Whether a file or folder of this name in a data folder is Stratus's own. SQLite may have left a journal beside
    /// the directory's file.
    static func isOwnName(_ name: String) -> Bool {
        ownNames.contains(name) || name.hasPrefix("directory.sqlite-")
    }

    /// Refuses a folder that others may read or write. Checks the folders down to the databases', the data folder's own
    /// files, and assets. A database's file is checked when it is opened.
    static func checkRights(_ path: String) throws {
        try FileRights.check(path)
        for name in ownNames { try FileRights.check(path + "/" + name, mendedBy: path) }
        let databases = path + "/databases"
        for container in try names(in: databases) {
            try FileRights.check(databases + "/" + container, mendedBy: path)
            for environment in try names(in: databases + "/" + container) {
                let folder = databases + "/" + container + "/" + environment
                try FileRights.check(folder, mendedBy: path)
                for name in try names(in: folder) where name.hasSuffix(assetsEnding) {
                    try FileRights.checkAll(below: folder + "/" + name, mendedBy: path)
                }
            }
        }
    }
}

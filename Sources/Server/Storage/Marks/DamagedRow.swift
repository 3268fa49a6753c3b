/// A row whose checksum does not match: it is damaged, while the rows beside it may be intact.
package struct DamagedRow: Hashable, Sendable {
    /// What the row stores: a record, a subscription …
    package var kind: String
    /// The name of a record's zone, if it is known.
    package var zone: String?
    package var name: String

    package init(kind: String, zone: String? = nil, name: String) {
        self.kind = kind
        self.zone = zone
        self.name = name
    }
}

extension StorageError {
    /// A row that is damaged in a file that can be read.
    static func damaged(_ row: DamagedRow) -> StorageError {
        var error = StorageError(
            .corrupt,
            "A stored \(row.kind) is damaged: its checksum does not match. Everything else in the "
                + "database is served; restore the file from a backup to get it back.")
        error.damagedRow = row
        return error
    }

    /// The same error with the file's path, if it has none yet.
    func located(at path: String) -> StorageError {
        var error = self
        if error.damagedRow != nil, error.path == nil { error.path = path }
        return error
    }
}

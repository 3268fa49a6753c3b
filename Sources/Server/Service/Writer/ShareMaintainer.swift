import StratusStorage
import StratusWire

/// Keeps the shares by their links, the access by them, and which records left the view of a share.
struct ShareMaintainer: RecordMaintainer {
    /// The shares that were deleted in the zone.
    private var ended: [String] = []

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        if row.type == ShareDictionary.recordType {
            try put(row, in: rows)
        } else if let left = write.old?.shareRoot, row.shareRoot != left {
            try rows.put(ShareEventRow(row, leaving: left))
        }
        if let root = row.shareRoot, write.old?.shareRoot != root {
            try rows.deleteShareEvent(of: row.name, root: root, in: row.zone)
        }
    }

    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        if row.type == ShareDictionary.recordType {
            ended.append(row.name)
        } else if let left = write.old?.shareRoot {
            try rows.put(ShareEventRow(row, leaving: left))
        }
    }

    /// Shares end last, so that the rows of the records that left them are removed with them.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter
    ) throws {
        for share in ended { try rows.deleteShare(share, in: zone.key) }
        ended = []
    }

    /// The store deletes a zone's shares with it; their links are returned by
    /// ``RecordWriter/remove(_:reason:)``.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func put(_ row: RecordRow, in rows: any DerivedRowWriter) throws {
        let sharing = try RecordSharing(row)
        guard let share = sharing.share, let shortGUID = sharing.shortGUID else { return }
        try rows.put(
            ShareRow(zone: row.zone, name: row.name, root: share.root, shortGUID: shortGUID),
            access: share.access(by: row.name))
    }
}

extension ShareEventRow {
    /// A record that left the view of a root's share, with its current version.
    fileprivate init(_ row: RecordRow, leaving root: String) {
        self.init(
            zone: row.zone, root: root, name: row.name, type: row.type, version: row.version,
            commitVersion: row.commitVersion)
    }
}

import StratusRecords
import StratusStorage

/// Keeps which records hold which assets, and how many hold each.
struct AssetMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let new = StoredAssets.blobs(in: write.row.payload)
        guard !new.isEmpty || held(write.old) else { return }
        try rows.setAssets(Set(new.map(\.sha256)), of: write.row.name, in: write.row.zone)
    }

    /// The fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        guard held(write.old) else { return }
        try rows.setAssets([], of: write.row.name, in: write.row.zone)
    }

    /// A record whose asset is not in the database keeps its finding.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let isComplete = try StoredAssets.blobs(in: write.row.payload).allSatisfy {
            try rows.asset($0.sha256) != nil
        }
        if isComplete { try stored(write, in: rows) }
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store releases the assets of a zone's records with it.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func held(_ old: RecordRow?) -> Bool {
        old.map { StoredAssets.areIn($0.payload) } ?? false
    }
}

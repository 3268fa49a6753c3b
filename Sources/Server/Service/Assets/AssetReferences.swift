import StratusRecords
import StratusStorage

extension ModifyDecisions.Write {
    /// Counts the assets that the record holds now and held before.
    func putAssets(in writer: any StoreWriter) throws {
        let new = StoredAssets.blobs(in: row.payload)
        guard !new.isEmpty || old.map({ StoredAssets.areIn($0.payload) }) == true else { return }
        try writer.setAssets(Set(new.map(\.sha256)), of: row.name, in: row.zone)
    }
}

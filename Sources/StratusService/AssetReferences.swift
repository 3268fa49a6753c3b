import StratusRecords
import StratusStorage

extension StoreWriter {
    /// Counts the assets that a written record holds now and the one before held.
    func putAssets(of write: ModifyDecisions.Write) throws {
        let new = StoredAssets.blobs(in: write.row.payload)
        guard !new.isEmpty || write.old.map({ StoredAssets.areIn($0.payload) }) == true else {
            return
        }
        try setAssets(Set(new.map(\.sha256)), of: write.row.name, in: write.row.zone)
    }
}

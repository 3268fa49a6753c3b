import StratusRecords

extension CKAsset {
    /// Notes the copy that a store keeps.
    package func keep(_ copy: KeptAsset) { kept = copy }

    /// The value of the asset at the service or in the store that keeps it; nil for a file of the
    /// app.
    package var knownValue: AssetReceipt? { stored?.kept ?? kept?.value }

    /// Whether the service keeps it in this record.
    package func isHeld(by recordID: CKRecord.ID) -> Bool {
        value(in: Holder(recordName: recordID.recordName, zoneID: recordID.zoneID)) != nil
    }
}

extension CKRecord {
    /// The fields with assets, in the order of their names.
    package var assetFields: [(key: FieldKey, assets: [CKAsset])] {
        state.withLock { $0.values }
            .compactMap { key, value in value.assets.map { (key: key, assets: $0) } }
            .sorted { $0.key < $1.key }
    }

    /// Attaches the proofs of uploads, by checksum, to the assets, for the next save.
    package func send(receipts: [String: String]) {
        guard !receipts.isEmpty else { return }
        for asset in assetFields.flatMap(\.assets) {
            guard let receipt = asset.stored?.fileChecksum.flatMap({ receipts[$0] }) else {
                continue
            }
            asset.send(receipt: receipt)
        }
    }
}

extension RecordSnapshot {
    /// The checksums of the record's assets, with their fields.
    package var assetKeys: [(field: String, key: String)] {
        fields.flatMap { field in
            (field.value?.assets ?? []).compactMap { asset in
                asset.fileChecksum.map { (field.name, $0) }
            }
        }
    }

    /// Replaces every asset of the record, in lists too.
    ///
    /// - Returns: whether anything changed.
    @discardableResult
    package mutating func replaceAssets(_ replacement: (AssetReceipt) -> AssetReceipt) -> Bool {
        var isChanged = false
        for field in fields {
            let value: FieldValue
            switch field.value {
            case .asset(let asset): value = .asset(replacement(asset))
            case .assetList(let assets): value = .assetList(assets.map(replacement))
            default: continue
            }
            guard value != field.value else { continue }
            self[field.name] = value
            isChanged = true
        }
        return isChanged
    }
}

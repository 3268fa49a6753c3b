import Foundation
import StratusRecords

// In a record's archive an asset is a list of strings: the path of its file, the service's value,
// and the record that holds it. A downloaded file is not kept after its process ends: an asset
// decoded from an archive has none, but its record can still be saved.

extension CKAsset {
    var archived: [String] {
        guard let stored else { return [fileURL?.path ?? ""] }
        return [
            savedFileURL?.path ?? "", stored.fileChecksum ?? "",
            stored.sizeBytes.map(String.init) ?? "",
            stored.referenceChecksum ?? "", stored.wrappingKey ?? "", holder?.recordName ?? "",
            holder?.zoneID.zoneName ?? "", holder?.zoneID.ownerName ?? "",
        ]
    }

    /// - Returns: nil unless ``archived`` wrote the parts.
    convenience init?(archived parts: [String]) {
        switch parts.count {
        case 1:
            // Empty for an asset without a file on this device, as in the client's record of a conflict.
            guard parts[0].isEmpty || parts[0].hasPrefix("/") else { return nil }
            self.init(file: parts[0].isEmpty ? nil : URL(fileURLWithPath: parts[0]))
        case 8:
            guard parts[0].isEmpty || parts[0].hasPrefix("/") else { return nil }
            let zoneID = CKRecordZoneID(known: parts[6], ownerName: parts[7])
            let texts = parts.map { $0.isEmpty ? nil : $0 }
            self.init(
                AssetReceipt(
                    fileChecksum: texts[1], sizeBytes: texts[2].flatMap { Int64($0) },
                    referenceChecksum: texts[3], wrappingKey: texts[4]),
                in: texts[5].map { Holder(recordName: $0, zoneID: zoneID) },
                fileURL: texts[0].map { URL(fileURLWithPath: $0) })
        default: return nil
        }
    }
}

import Foundation
import StratusClient
import StratusRecords
import StratusTesting

@testable import StratusCache

/// Helpers of tests of assets on a device.
extension CloudDevice {
    static func bytes(_ text: String, count: Int = 1_000) -> Data {
        Data((text + "\n").utf8.cycled(count))
    }

    /// A phone that has sent a record "a" with a photo, and a tablet that has fetched the record without the file.
    static func pair(photo: Data) async throws -> (phone: CloudDevice, tablet: CloudDevice) {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.savePhoto("a", photo)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        return (phone, tablet)
    }

    /// Saves a photo from a file that is removed right after it, like an app's temporary files.
    @discardableResult
    func savePhoto(_ name: String, _ content: Data, field: String = "image") throws -> CKRecord {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try content.write(to: file)
        defer { unlink(file.path) }
        let id = CKRecord.ID(recordName: name, zoneID: .list)
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Photo", recordID: id)
        record[field] = CKAsset(fileURL: file)
        try cache.save(record)
        return record
    }

    func photo(_ name: String) throws -> CKRecord? {
        try cache.record(for: CKRecord.ID(recordName: name, zoneID: .list))
    }

    /// The file's bytes; nil if the file is not on the device.
    func image(_ name: String, field: String = "image") throws -> Data? {
        let asset: CKAsset? = try photo(name)?[field]
        return try asset?.fileURL.map { try Data(contentsOf: $0) }
    }

    /// The names of the files in the asset folder, sorted.
    func assetFiles() throws -> [String] { try cache.file.assets.names().sorted() }
}

extension Sequence where Element == UInt8 {
    /// This many bytes, repeating the sequence.
    fileprivate func cycled(_ count: Int) -> [UInt8] {
        let all = Array(self)
        return (0..<count).map { all[$0 % all.count] }
    }
}

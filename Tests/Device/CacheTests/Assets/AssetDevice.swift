import Foundation
import StratusClient
import StratusRecords
import StratusTesting

@testable import StratusCache

/// What tests of assets do on a device.
extension CloudDevice {
    static func bytes(_ text: String, count: Int = 1_000) -> Data {
        Data((text + "\n").utf8.cycled(count))
    }

    /// A phone that has sent a record "a" with a photo, and a tablet that has the record alone.
    static func pair(photo: Data) async throws -> (phone: CloudDevice, tablet: CloudDevice) {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try phone.savePhoto("a", photo)
        try await phone.cache.sync()
        try await tablet.cache.sync()
        return (phone, tablet)
    }

    /// Saves a photo from a file that is gone at once, as an app's temporary ones are.
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

    /// The file's bytes; nil while it is not here.
    func image(_ name: String, field: String = "image") throws -> Data? {
        let asset: CKAsset? = try photo(name)?[field]
        return try asset?.fileURL.map { try Data(contentsOf: $0) }
    }

    /// The files in the folder, sorted.
    func assetFiles() throws -> [String] { try cache.file.assets.names().sorted() }
}

extension Sequence where Element == UInt8 {
    /// So many bytes, from the beginning again and again.
    fileprivate func cycled(_ count: Int) -> [UInt8] {
        let all = Array(self)
        return (0..<count).map { all[$0 % all.count] }
    }
}

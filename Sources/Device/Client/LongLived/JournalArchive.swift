import Foundation

/// Writes one piece of an operation's journal: objects and results under keys.
final class JournalWriter {
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    private let folder: URL
    /// Prefix of the names of this piece's files, unique in the journal.
    private let name: String
    private var fileCount = 0

    init(_ name: String, folder: URL) {
        self.name = name
        self.folder = folder
    }

    func finish() -> Data {
        coder.finishEncoding()
        return coder.encodedData
    }

    /// Writes a list; writes nothing for nil.
    func write<Object: NSObject & NSCoding>(_ objects: [Object]?, _ key: String) throws {
        guard let objects else { return }
        coder.encode(Int64(objects.count), forKey: key)
        for (index, object) in objects.enumerated() {
            coder.archive(object, "\(key).\(index)")
        }
    }

    /// Writes one result for each item.
    ///
    /// - Parameter keepsFiles: whether the files of assets are copied into the journal.
    func write<Item: JournalKey, Value: NSObject & NSCoding>(
        _ results: [ItemResult<Item, Value>], _ key: String, keepsFiles: Bool = false
    ) throws {
        coder.encode(Int64(results.count), forKey: key)
        for (index, (item, result)) in results.enumerated() {
            coder.archive(item.object, "\(key).\(index).item")
            switch result {
            case .success(let value):
                coder.archive(value, "\(key).\(index).value")
                if keepsFiles, let record = value as? CKRecord {
                    try write(filesOf: record, "\(key).\(index).files")
                }
            case .failure(let error):
                write(CKError(requestFailedWith: error), "\(key).\(index).error")
            }
        }
    }

    /// Writes one result for each item, whose success has no value.
    func write<Item: JournalKey>(_ results: [ItemResult<Item, Void>], _ key: String) throws {
        try write(results.map { ($0.item, $0.result.map { NSNull() }) }, key)
    }

    /// Writes an error with the public details of a `CKError`; causes are left out.
    func write(_ error: CKError, _ key: String) {
        coder.encode(Int64(error.code.rawValue), forKey: key)
        var details: [Any] = []
        for (name, value) in error.userInfo {
            switch value {
            case let record as CKRecord: coder.archive(record, "\(key).\(name)")
            case let text as String: details.append([name, text])
            case let number as NSNumber: details.append([name, number])
            case let number as Int: details.append([name, number])
            default: break
            }
        }
        coder.archive(tree: details, "\(key).details")
    }

    /// Copies the files of a record's assets, in the order of the fields' names.
    func write(filesOf record: CKRecord, _ key: String) throws {
        let assets = record.assetsInOrder
        guard !assets.isEmpty else { return }
        coder.archive(try assets.map { try $0.fileURL.map(copy) ?? "" }, key)
    }

    /// - Returns: the name of the copy; empty when there is no file, which is reported when the
    ///   file is used.
    private func copy(_ url: URL) throws -> String {
        let source = url.resolvingSymlinksInPath()
        guard FileManager.default.isReadableFile(atPath: source.path) else { return "" }
        fileCount += 1
        let fileName = "asset-\(name)-\(fileCount)"
        let copy = folder.appendingPathComponent(fileName)
        if FileManager.default.fileExists(atPath: copy.path) {
            // Removes the copy that an earlier process left when it ended before it finished.
            try FileManager.default.removeItem(at: copy)
        }
        try FileManager.default.copyItem(at: source, to: copy)
        DeviceFile.tighten(copy.path)
        let handle = try FileHandle(forUpdating: copy)
        try handle.synchronize()
        return fileName
    }
}

/// Reads a piece that a ``JournalWriter`` wrote.
struct JournalReader {
    let coder: NSKeyedUnarchiver
    private let folder: URL

    /// - Throws: Foundation's error for bytes that are not an archive.
    init(_ bytes: Data, folder: URL) throws {
        coder = try NSKeyedUnarchiver(forReadingFrom: bytes)
        // The default policy crashes the process.
        coder.decodingFailurePolicy = .setErrorAndReturn
        self.folder = folder
    }

    /// Reads a list; nil when none was written.
    func objects<Object: NSObject & NSCoding>(
        _ type: Object.Type, _ key: String
    ) throws -> [Object]? {
        guard coder.containsValue(forKey: key) else { return nil }
        return try (0..<count(key)).map { index in
            guard let object = coder.archivedObject(type, "\(key).\(index)") else {
                throw OperationJournal.Damaged()
            }
            return object
        }
    }

    func results<Item: JournalKey, Value: NSObject & NSCoding>(
        _ key: String, in assetFolder: AssetFolder
    ) throws -> [ItemResult<Item, Value>] {
        try (0..<count(key)).map { index in
            let object = coder.archivedObject(Item.Object.self, "\(key).\(index).item")
            guard let item = object.map(Item.item) else { throw OperationJournal.Damaged() }
            if let error = error("\(key).\(index).error") { return (item, .failure(error)) }
            guard let value = coder.archivedObject(Value.self, "\(key).\(index).value") else {
                throw OperationJournal.Damaged()
            }
            if let record = value as? CKRecord {
                try restoreFiles(of: record, "\(key).\(index).files", in: assetFolder)
            }
            return (item, .success(value))
        }
    }

    func results<Item: JournalKey>(
        _ key: String, in assetFolder: AssetFolder
    ) throws -> [ItemResult<Item, Void>] {
        let results: [ItemResult<Item, NSNull>] = try results(key, in: assetFolder)
        return results.map { ($0.item, $0.result.map { _ in }) }
    }

    /// Reads an error; nil when none was written.
    func error(_ key: String) -> CKError? {
        guard coder.containsValue(forKey: key),
            let code = CKError.Code(rawValue: Int(coder.decodeInt64(forKey: key)))
        else { return nil }
        var userInfo: [String: Any] = [:]
        for detail in coder.archivedTree("\(key).details") as? [[Any]] ?? []
        where detail.count == 2 {
            guard let name = detail[0] as? String else { continue }
            userInfo[name] = detail[1] as? String ?? detail[1] as? NSNumber
        }
        for name in [
            CKRecordChangedErrorAncestorRecordKey, CKRecordChangedErrorClientRecordKey,
            CKRecordChangedErrorServerRecordKey,
        ] {
            userInfo[name] = coder.archivedObject(CKRecord.self, "\(key).\(name)")
        }
        return CKError(code, userInfo: userInfo)
    }

    /// Gives a record's assets files of this process.
    func restoreFiles(of record: CKRecord, _ key: String, in assetFolder: AssetFolder) throws {
        guard let names = coder.archivedStrings(key) else { return }
        for (asset, name) in zip(record.assetsInOrder, names) where !name.isEmpty {
            let file = try assetFolder.makeFile()
            do {
                try Data(
                    contentsOf: folder.appendingPathComponent(name), options: .mappedIfSafe
                ).write(to: file.url)
            } catch {
                file.remove()
                throw error
            }
            asset.adopt(file)
        }
    }

    private func count(_ key: String) throws -> Int {
        guard coder.containsValue(forKey: key) else { throw OperationJournal.Damaged() }
        return max(0, Int(coder.decodeInt64(forKey: key)))
    }
}

extension CKRecord {
    fileprivate var assetsInOrder: [CKAsset] {
        state.withLock { state in
            state.values.sorted { $0.key < $1.key }.flatMap { $0.value.assets ?? [] }
        }
    }
}

/// What identifies an item of an operation, and the object that a journal has for it.
protocol JournalKey {
    associatedtype Object: NSObject & NSCoding

    var object: Object { get }
    static func item(_ object: Object) -> Self
}

extension JournalKey where Object == Self {
    var object: Self { self }
    static func item(_ object: Self) -> Self { object }
}

extension CKRecordID: JournalKey { typealias Object = CKRecordID }
extension CKRecordZoneID: JournalKey { typealias Object = CKRecordZoneID }

extension String: JournalKey {
    var object: NSString { self as NSString }
    static func item(_ object: NSString) -> String { object as String }
}

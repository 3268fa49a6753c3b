// swift-format-ignore-file: NeverForceUnwrap
// The guides force-unwrap in this way, and the programs follow their style.

import CloudKit

enum MemoError: Error {
    case absent
    case appTooOld
    case strange
}

@available(*, deprecated, message: "In the manner of Swift 3.")
public protocol MemoDelegate {
    func memoChanged(memo: Memo)
}

/// One text that is the same on all devices of its user; its text is an asset.
@available(*, deprecated, message: "In the manner of Swift 3.")
public class Memo: MemoCloudDelegate {
    public var delegate: MemoDelegate?
    private(set) var text: String?
    private(set) var modified: Date?

    private let recordName = "the-memo"
    private let version = 1
    private var memoRecord: CKRecord?

    public init() {
        MemoCloud.shared.delegate = self
    }

    private func read(record: CKRecord) -> (String?, Date?, Error?) {
        let version = record["version"] as? NSNumber
        guard version != nil else {
            return (nil, nil, MemoError.strange)
        }
        guard version!.intValue <= self.version else {
            return (nil, nil, MemoError.appTooOld)
        }
        let asset = record["text"] as? CKAsset
        guard asset != nil else {
            return (nil, nil, MemoError.absent)
        }
        let modified = record["modified"] as? Date
        do {
            let text = try String(contentsOf: asset!.fileURL)
            return (text, modified, nil)
        } catch {
            return (nil, nil, error)
        }
    }

    // MARK: Loading

    public func load(completion: @escaping (String?, Date?, Error?) -> Void) {
        let cloud = MemoCloud.shared
        cloud.fetch(name: recordName) { (record, error) in
            guard error == nil else {
                guard let cloudError = error as? CKError else {
                    completion(nil, nil, error)
                    return
                }
                if cloudError.isMissing() {
                    completion(nil, nil, MemoError.absent)
                    return
                }
                completion(nil, nil, error)
                return
            }
            guard let record = record else {
                completion(nil, nil, MemoError.strange)
                return
            }
            let (text, modified, error) = self.read(record: record)
            self.memoRecord = record
            self.text = text
            self.modified = modified
            completion(text, modified, error)
        }
    }

    // MARK: Saving

    public func save(text: String, modified: Date, completion: @escaping (Error?) -> Void) {
        guard let record = self.memoRecord else {
            let cloud = MemoCloud.shared
            cloud.fetch(name: recordName) { record, error in
                if let error = error {
                    guard let cloudError = error as? CKError else {
                        completion(error)
                        return
                    }
                    guard cloudError.isMissing() else {
                        completion(error)
                        return
                    }
                    let recordID = CKRecordID(
                        recordName: self.recordName, zoneID: cloud.zoneID!)
                    self.memoRecord = CKRecord(recordType: "memo", recordID: recordID)
                    self.memoRecord?["version"] = NSNumber(value: self.version)
                } else {
                    guard record != nil else {
                        completion(MemoError.strange)
                        return
                    }
                    self.memoRecord = record
                }
                self.save(text: text, modified: modified, completion: completion)
            }
            return
        }
        let folder = NSTemporaryDirectory()
        let fileName = NSUUID().uuidString
        let fileURL = NSURL.fileURL(withPathComponents: [folder, fileName])
        do {
            try text.write(to: fileURL!, atomically: true, encoding: .utf8)
        } catch {
            completion(error)
            return
        }
        let asset = CKAsset(fileURL: fileURL!)
        record["text"] = asset
        record["modified"] = modified as NSDate
        store(record: record) { isReplaced, error in
            defer {
                try? FileManager.default.removeItem(at: fileURL!)
            }
            guard error == nil else {
                completion(error)
                return
            }
            guard !isReplaced else {
                let (text, modified, readError) = self.read(record: self.memoRecord!)
                guard readError == nil else {
                    completion(readError)
                    return
                }
                self.text = text
                self.modified = modified
                self.delegate?.memoChanged(memo: self)
                completion(nil)
                return
            }
            self.text = text
            self.modified = modified
            completion(nil)
        }
    }

    /// Stores a record, and overwrites the other side's if ours is newer.
    private func store(record: CKRecord, completion: @escaping (Bool, Error?) -> Void) {
        let cloud = MemoCloud.shared
        cloud.store(record: record) { error in
            guard error == nil else {
                guard let cloudError = error as? CKError else {
                    completion(false, error)
                    return
                }
                let (ourSide, theirSide) = cloudError.bothSides()
                guard let ours = ourSide, let theirs = theirSide else {
                    completion(false, error)
                    return
                }
                let ourDate = ours["modified"] as? Date
                let theirDate = theirs["modified"] as? Date
                if (ourDate?.compare(theirDate!) == .orderedDescending) {
                    theirs["text"] = ours["text"]
                    theirs["modified"] = ourDate! as NSDate
                    self.store(record: theirs) { isReplaced, error in
                        self.memoRecord = theirs
                        completion(true, error)
                    }
                } else {
                    self.memoRecord = theirs
                    completion(true, nil)
                }
                return
            }
            completion(false, nil)
        }
    }

    // MARK: Notifications

    public func memoCloudChanged(record: CKRecord) {
        if record.recordID == self.memoRecord?.recordID {
            let (text, modified, error) = self.read(record: record)
            guard error == nil else {
                return
            }
            self.memoRecord = record
            self.text = text
            self.modified = modified
            self.delegate?.memoChanged(memo: self)
        }
    }
}

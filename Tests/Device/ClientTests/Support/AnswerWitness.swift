import Foundation
import StratusClient
import Synchronization

/// An app that receives damaged answers, and reads everything that it gets.
final class AnswerWitness: Sendable {
    private let found = Mutex<[String]>([])
    private let ended = Mutex(0)
    private let failures = Mutex<[String]>([])
    private let links = Mutex<[CKShare.Metadata]>([])

    /// Results that an app must never see.
    var faults: [String] { found.withLock { $0 } }
    /// Result blocks and convenience calls that have ended.
    var endCount: Int { ended.withLock { $0 } }

    /// The errors of operations that failed as a whole.
    var wholeErrors: [String] { failures.withLock { $0 } }

    /// The metadata that links of shares led to.
    var metadatas: [CKShare.Metadata] { links.withLock { $0 } }

    private func fault(_ sentence: String) {
        found.withLock { $0.append(sentence) }
    }

    /// Checks the result of a single item.
    func see<Value>(_ result: Result<Value, any Error>) {
        switch result {
        case .success(let value): see(value)
        case .failure(let error): see(error)
        }
    }

    /// Checks the result that ends an operation.
    func end<Value>(_ result: Result<Value, any Error>) {
        if case .failure(let error) = result { failures.withLock { $0.append("\(error)") } }
        ended.withLock { $0 += 1 }
        see(result)
    }

    /// Awaits a convenience call.
    func call<Value>(_ body: () async throws -> Value) async {
        do {
            end(.success(try await body()))
        } catch {
            // Checked like any other error.
            end(Result<Value, any Error>.failure(error))
        }
    }

    private func see(_ error: any Error) {
        guard let error = error as? CKError else {
            return fault("not a CKError: \(error)")
        }
        if let seconds = error.retryAfterSeconds, !(0...604_800).contains(seconds) {
            fault("retry after \(seconds) seconds")
        }
        _ = "\(error) \(error.localizedDescription)"
        for record in [error.serverRecord, error.clientRecord, error.ancestorRecord] {
            if let record { see(record) }
        }
        for error in error.partialErrorsByItemID?.values.map({ $0 }) ?? [] { see(error) }
    }

    private func see(_ value: Any) {
        switch value {
        case let record as CKRecord: see(record)
        case let metadata as CKShare.Metadata:
            links.withLock { $0.append(metadata) }
            see(metadata.share)
            if let root = metadata.rootRecord { see(root) }
            keep(metadata)
        case let object as NSObject & NSCoding: keep(object)
        default: _ = "\(value)"
        }
    }

    private func see(_ record: CKRecord) {
        for key in record.allKeys() { _ = record[key].map { "\($0)" } }
        for key in record.encryptedValues.allKeys() {
            _ = record.encryptedValues.object(forKey: key).map { "\($0)" }
        }
        _ = (record.creationDate, record.creatorUserRecordID, record.parent, record.changedKeys())
        if let share = record as? CKShare {
            _ = (share.url, share.owner, share.currentUserParticipant, share.publicPermission)
            for participant in share.participants {
                _ = "\(participant) \(participant.userIdentity)"
                _ = (participant.isApprovedRequester, participant.dateAddedToShare)
            }
            for requester in share.requesters {
                _ = "\(requester) \(requester.participantLookupInfo)"
                keep(requester)
            }
            for blocked in share.blockedIdentities { keep(blocked) }
        }
        keep(record)
    }

    /// Archives an object and reads it back: an object that was received must not be lost in an app's store.
    private func keep(_ object: NSObject & NSCoding) {
        _ = "\(object)"
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(object, forKey: "object")
        // The failure is reported below, as there is no object then.
        let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver?.decodingFailurePolicy = .setErrorAndReturn
        if unarchiver?.decodeObject(of: [type(of: object)], forKey: "object") == nil {
            fault("archived and lost: \(object)")
        }
    }
}

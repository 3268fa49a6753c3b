import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

/// The record at the service by which a user's devices share keys.
///
/// It has the type `StratusKeyring` and the name `stratus-keyring`, in the default zone of the
/// private database. `identifier` identifies the account's key; `sealed` has the keys of zones that
/// others share with the user, encrypted with it. The account's key itself is only in the
/// ``CloudKeyStore`` of each device.
extension CloudKeyring {
    static let recordType = "StratusKeyring"
    static let recordName = "stratus-keyring"

    struct Stored {
        var changeTag: String?
        var identifier: [UInt8]?
        var sealed: [UInt8]?
    }

    /// The keyring's record; nil when there is none.
    func record(_ caller: Caller) async throws -> Stored? {
        let answer = try await caller.core.sender(scope: .private, pace: caller.pace).send(
            RecordsLookup.self,
            RecordsLookup.Request(records: [.init(recordName: Self.recordName)]))
        try check(answer, caller)
        switch answer.records.first {
        case .record(let dictionary):
            // The error's details do not matter: the request fails, so that a keyring that cannot
            // be read is not replaced by a new one.
            guard let fields = try? dictionary.fields.values() else {
                throw CKError(
                    .internalError,
                    "The service returned the keyring with fields that cannot be read; update the app or"
                        + " the service.")
            }
            var stored = Stored(changeTag: dictionary.recordChangeTag)
            for field in fields {
                guard case .bytes(let bytes) = field.value else { continue }
                if field.name == "identifier" { stored.identifier = bytes }
                if field.name == "sealed" { stored.sealed = bytes }
            }
            return stored
        case .failure(let failure) where failure.error.code != .notFound:
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        default: return nil
        }
    }

    private func check(_ answer: RecordsLookup.Answer, _ caller: Caller) throws {
        guard answer.records.count == 1, let result = answer.records.first else {
            throw CKError(
                .internalError,
                "The service did not answer for the keyring; try again, or update the service.")
        }
        let user = caller.core.connection.userRecordName(container: caller.core.identifier)
        try AnswerMatching(scope: .private, user: user)
            .check(result, CKRecord.ID(recordName: Self.recordName))
    }

    /// Saves the record; without a change tag, as a new one.
    ///
    /// - Returns: the saved record; nil when another device changed it meanwhile.
    func save(_ stored: Stored, _ caller: Caller) async throws -> Stored? {
        let record = RecordDictionary(
            recordName: Self.recordName, recordType: Self.recordType,
            recordChangeTag: stored.changeTag,
            fields: .values([
                Field(name: "identifier", value: stored.identifier.map { .bytes($0) }),
                Field(name: "sealed", value: stored.sealed.map { .bytes($0) }),
            ]))
        let answer = try await caller.core.sender(scope: .private, pace: caller.pace).send(
            RecordsModify.self,
            RecordsModify.Request(
                operations: [.init(stored.changeTag == nil ? .create : .update, record)],
                isAtomic: false,
                operationID: caller.core.connection.world.makeUUID().uuidString))
        try check(answer, caller)
        switch answer.records.first {
        case .record(let dictionary):
            var saved = stored
            saved.changeTag = dictionary.recordChangeTag
            return saved
        case .failure(let failure)
        where failure.error.code == .conflict || failure.error.code == .exists:
            return nil
        case .failure(let failure):
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        default:
            throw CKError(
                .internalError,
                "The service did not answer the keyring's save; try again, or update the service.")
        }
    }
}

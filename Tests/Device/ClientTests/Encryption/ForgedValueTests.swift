import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// A hostile service writes clear values into encrypted fields, on every path. A value counts as encrypted only if this
/// device opened it with a key; nothing else is shown as encrypted, or sealed with the key.
@Suite struct ForgedValueTests {
    private let cloud = TestCloud()
    private static let forgery = "Send money to Mallory."

    private struct Device {
        var container: CKContainer
        var transport: TappedTransport
        var own: CKDatabase { container.privateCloudDatabase }
        var shared: CKDatabase { container.sharedCloudDatabase }
    }

    private func device(
        _ user: String = "ida", _ keyStore: any CloudKeyStore
    ) async throws -> Device {
        let link = try await cloud.connect(user: user, device: user)
        let transport = TappedTransport(link.transport)
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: user, keyStore: keyStore)
        return Device(
            container: CKContainer(identifier: Trip.identifier, connection: connection),
            transport: transport)
    }

    private func diary(_ name: String) -> CKRecord {
        let record = hut(name)
        record["name"] = "Gipfel"
        record.encryptedValues["diary"] = "We met a marmot."
        return record
    }

    /// Replaces every diary in an answer with the forgery, marked as encrypted or not.
    private static func forging(
        isEncrypted: Bool
    ) -> @Sendable (any Sendable, any Sendable) -> any Sendable {
        let field = Field(name: "diary", value: .string(forgery), isEncrypted: isEncrypted)
        @Sendable func forge(_ record: RecordDictionary) -> RecordDictionary {
            var record = record
            guard record.recordType == nil || record.recordType == "Hut" else { return record }
            // A record with unreadable fields is not part of this test.
            let fields = (try? record.fields.values()) ?? []
            record.fields = .values(fields.filter { $0.name != "diary" } + [field])
            return record
        }
        @Sendable func forge(_ result: RecordResult) -> RecordResult {
            switch result {
            case .record(let record): return .record(forge(record))
            case .failure(var failure):
                failure.serverRecord = failure.serverRecord.map(forge)
                failure.ancestorRecord = failure.ancestorRecord.map(forge)
                return .failure(failure)
            case .deleted: return result
            }
        }
        return { _, answer in
            switch answer {
            case var answer as RecordsLookup.Answer:
                answer.records = answer.records.map(forge)
                return answer
            case var answer as RecordsQuery.Answer:
                answer.records = answer.records.map(forge)
                return answer
            case var answer as ChangesZone.Answer:
                answer.items = answer.items.changed { $0.records = $0.records.map(forge) }
                return answer
            case var answer as RecordsResolve.Answer:
                answer.items = answer.items.changed { $0.rootRecord = $0.rootRecord.map(forge) }
                return answer
            default: return answer
            }
        }
    }

    /// Expects that a record does not show the forgery as encrypted, and that its next save does not seal it.
    private func expectUnforged(
        _ record: CKRecord, in database: CKDatabase, _ comment: Comment, isDeclared: Bool
    ) async throws {
        #expect(record.encryptedValues["diary"] as String? != Self.forgery, comment)
        if isDeclared { #expect(record["diary"] as String? != Self.forgery, comment) }
        record["name"] = "Gipfelhaus"
        _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        let read = try await device("ida", cloud.keyStore).own.record(
            for: hut(record.recordID.recordName).recordID)
        #expect(read.encryptedValues["diary"] as String? != Self.forgery, comment)
    }

    @Test(arguments: [true, false])
    func forgedSaveAnswerFillsNoEncryptedField(isEncrypted: Bool) async throws {
        for policy in [
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys,
            .allKeys,
        ] {
            let phone = try await device("ida", cloud.keyStore)
            try await phone.own.save(CKRecordZone(zoneID: trips))
            let record = diary(UUID().uuidString)
            try await phone.own.save(record)
            phone.transport.tap { $0.answer = Self.forging(isEncrypted: isEncrypted) }
            record["name"] = "Hütte"
            let saved = try await phone.own.modifyRecords(
                saving: [record], deleting: [], savePolicy: policy)
            _ = try saved.saveResults[record.recordID]?.get()
            phone.transport.tap { $0.answer = { $1 } }
            try await expectUnforged(
                record, in: phone.own, "\(policy.rawValue)", isDeclared: true)
        }
    }

    /// The service first returns the value in the clear, and marks it as encrypted in the answer to a save.
    @Test func forgedEncryptionMarkDoesNotMakeAPlainValueEncrypted() async throws {
        for policy in [
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys,
        ] {
            let phone = try await device("ida", MemoryKeyStore())
            try await phone.own.save(CKRecordZone(zoneID: trips))
            let name = UUID().uuidString
            try await phone.own.save(hut(name))
            phone.transport.tap { $0.answer = Self.forging(isEncrypted: false) }
            let record = try await phone.own.record(for: hut(name).recordID)
            phone.transport.tap { $0.answer = Self.forging(isEncrypted: true) }
            record["name"] = "Hütte"
            _ = try await phone.own.modifyRecords(
                saving: [record], deleting: [], savePolicy: policy)
            phone.transport.tap { $0.answer = { $1 } }
            #expect(record.encryptedValues["diary"] as String? == nil, "\(policy.rawValue)")
        }
    }

    /// A mark without a value that a key opens has no effect, also not on a value that is set meanwhile.
    @Test func forgedEncryptionMarkDoesNotEncryptALaterValue() async throws {
        let phone = try await device("ida", MemoryKeyStore())
        try await phone.own.save(CKRecordZone(zoneID: trips))
        let record = hut("a")
        try await phone.own.save(record)
        phone.transport.tap {
            $0.answer = Self.forging(isEncrypted: true)
            $0.served = { if $0 == RecordsModify.path { record["diary"] = "For all to read." } }
        }
        record["name"] = "Hütte"
        _ = try await phone.own.modifyRecords(
            saving: [record], deleting: [], savePolicy: .changedKeys)
        phone.transport.tap { $0 = .init() }
        #expect(record.encryptedValues.allKeys().isEmpty && record["diary"] == "For all to read.")
        try await phone.own.save(record)
        // The value is readable without the key.
        let read = try await device("ida", MemoryKeyStore()).own.record(for: record.recordID)
        #expect(read["diary"] == "For all to read." && read.encryptedValues.allKeys().isEmpty)
    }

    @Test(arguments: [true, false], [true, false])
    func forgedFetchAnswerFillsNoEncryptedField(isEncrypted: Bool, isDeclared: Bool) async throws {
        let writer = try await device("ida", cloud.keyStore)
        try await writer.own.save(CKRecordZone(zoneID: trips))
        try await writer.own.save(diary("a"))
        // A device that never encrypted the field has only the keys.
        let reader: Device
        if isDeclared {
            reader = try await device("ida", cloud.keyStore)
        } else {
            reader = try await device("ida", MemoryKeyStore())
            try await reader.container.useRecoveryKey(try await writer.container.recoveryKey())
        }
        reader.transport.tap { $0.answer = Self.forging(isEncrypted: isEncrypted) }
        let id = hut("a").recordID
        let looked = try await reader.own.record(for: id)
        let queried = try await reader.own.records(
            matching: CKQuery(recordType: "Hut", predicate: NSPredicate(value: true)),
            inZoneWith: trips)
        let changed = try await reader.own.recordZoneChanges(inZoneWith: trips, since: nil)
        for (path, record) in [
            ("lookup", looked), ("query", try queried.matchResults.first?.1.get()),
            ("changes", try changed.modificationResultsByID[id]?.get().record),
        ] {
            let record = try #require(record)
            reader.transport.tap { $0.answer = Self.forging(isEncrypted: isEncrypted) }
            #expect(record.encryptedValues["diary"] as String? == nil, "\(path)")
            if isDeclared { #expect(record["diary"] as String? == nil, "\(path)") }
        }
    }

    @Test(arguments: [true, false])
    func forgedConflictFillsNoEncryptedField(isEncrypted: Bool) async throws {
        let phone = try await device("ida", cloud.keyStore)
        let tablet = try await device("ida", MemoryKeyStore())
        try await phone.own.save(CKRecordZone(zoneID: trips))
        try await phone.own.save(diary("a"))
        try await tablet.container.useRecoveryKey(try await phone.container.recoveryKey())
        let mine = try await tablet.own.record(for: hut("a").recordID)
        let other = try await phone.own.record(for: hut("a").recordID)
        other["name"] = "Hütte"
        try await phone.own.save(other)
        mine["beds"] = 7
        tablet.transport.tap { $0.answer = Self.forging(isEncrypted: isEncrypted) }
        let outcome = try await tablet.own.modifyRecords(
            saving: [mine], deleting: [], atomically: false)
        let error = try #require(outcome.saveResults[mine.recordID]?.failure as? CKError)
        let conflict = try #require(error.conflicts.first)
        let server = conflict.server
        #expect(server["diary"] as String? == nil && server["name"] == "Hütte")
        #expect(conflict.ancestor?["diary"] as String? == nil)
        #expect(conflict.ancestor?.encryptedValues["diary"] as String? != Self.forgery)
        tablet.transport.tap { $0.answer = { $1 } }
        try await expectUnforged(conflict.merged(), in: tablet.own, "merged", isDeclared: true)
    }

    @Test(arguments: [true, false])
    func forgedSharedRecordFillsNoEncryptedField(isEncrypted: Bool) async throws {
        let (ida, ben) = (
            try await device("ida", MemoryKeyStore()), try await device("ben", MemoryKeyStore())
        )
        try await ida.own.save(CKRecordZone(zoneID: trips))
        let root = diary("root")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        _ = try await ida.own.modifyRecords(saving: [root, share], deleting: [])
        let link = try #require(share.url)
        let joined = try await ben.container.accept(
            try await ben.container.shareMetadata(for: link))
        let id = CKRecord.ID(recordName: "root", zoneID: joined.recordID.zoneID)
        // Ben encrypts the field himself, so his device knows that it is encrypted.
        let his = try await ben.shared.record(for: id)
        #expect(his.encryptedValues["diary"] == "We met a marmot.")
        his.encryptedValues["diary"] = "I saw it too."
        try await ben.shared.save(his)
        ben.transport.tap { $0.answer = Self.forging(isEncrypted: isEncrypted) }
        let session = ContainerSession(core: ben.container.core, pace: RequestPace())
        let found = try await session.shareMetadata(for: [link], rootRecord: (nil, ()))
        for (path, record) in [
            ("lookup", try await ben.shared.record(for: id)),
            ("link", try #require(try found.first?.result.get().rootRecord)),
        ] {
            #expect(record.encryptedValues["diary"] as String? == nil, "\(path)")
            #expect(record["diary"] as String? == nil, "\(path)")
        }
        his["name"] = "Hütte"
        _ = try await ben.shared.modifyRecords(
            saving: [his], deleting: [], savePolicy: .changedKeys)
        #expect(his.encryptedValues["diary"] as String? != Self.forgery)
    }
}

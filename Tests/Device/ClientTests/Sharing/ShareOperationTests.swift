import Foundation
import StratusClient
import StratusTesting
import Synchronization
import Testing

/// The operations of sharing: their blocks, new and old, and their results for single items.
@Suite struct ShareOperationTests {
    @Test func metadataOperationReportsEachLink() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let link = try #require(share.url)
        let bad = try #require(URL(string: "https://stratus.invalid/share/nothing"))
        let operation = CKFetchShareMetadataOperation(shareURLs: [link, bad])
        operation.shouldFetchRootRecord = true
        operation.rootRecordDesiredKeys = ["region"]
        let log = Log()
        operation.perShareMetadataResultBlock = { url, result in
            switch result {
            case .success(let metadata):
                #expect(metadata.rootRecord?.allKeys() == ["region"])
                log.add("\(url == link) \(metadata.rootRecord?["region"] as? String ?? "")")
            case .failure(let error):
                log.add("\(url == bad) \((error as? CKError)?.code == .unknownItem)")
            }
        }
        operation.fetchShareMetadataResultBlock = { log.add("result \($0.failure == nil)") }
        await run(operation, on: trip.bo)
        #expect(log.all == ["true Alps", "true true", "result true"])
    }

    @available(*, deprecated)
    @Test func deprecatedMetadataAndAcceptBlocksAreCalled() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let link = try #require(share.url)
        let bad = try #require(URL(string: "https://stratus.invalid/share/nothing"))
        let log = Log()
        let fetched = Kept<CKShareMetadata>()
        let fetch = CKFetchShareMetadataOperation(share: [link, bad])
        fetch.perShareMetadataBlock = { url, metadata, error in
            if let metadata { fetched.add(metadata) }
            log.add("\(url == link) \(metadata?.rootRecordID.recordName ?? "") \(error == nil)")
        }
        fetch.fetchShareMetadataCompletionBlock = { error in
            let errors = (error as? CKError)?.partialErrorsByItemID
            log.add("\((errors?[bad] as? CKError)?.code == .unknownItem) \(errors?.count ?? 0)")
        }
        await run(fetch, on: trip.bo)
        #expect(log.all == ["true trail true", "false  false", "true 1"])
        let metadata = try #require(fetched.all.first)
        #expect(metadata.participantType == .privateUser)

        let accepted = Log()
        let accept = CKAcceptSharesOperation(shareMetadatas: [metadata])
        accept.qualityOfService = .userInteractive
        accept.perShareCompletionBlock = { metadata, share, error in
            accepted.add("\(metadata.share.recordID == share?.recordID) \(error == nil)")
        }
        accept.acceptSharesCompletionBlock = { accepted.add("\($0 == nil)") }
        await run(accept, on: trip.bo)
        #expect(accepted.all == ["true true", "true"])
    }

    @available(*, deprecated)
    @Test func failedAcceptIsReportedByShareURL() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        try await trip.ida.privateCloudDatabase.deleteRecord(withID: share.recordID)
        let log = Log()
        let operation = CKAcceptSharesOperation()
        operation.shareMetadatas = [metadata]
        operation.perShareCompletionBlock = { _, _, _ in log.add("old") }
        operation.perShareResultBlock = { _, result in
            log.add("\((result.failure as? CKError)?.code == .unknownItem)")
        }
        operation.acceptSharesResultBlock = { log.add("result \($0.failure == nil)") }
        operation.acceptSharesCompletionBlock = { error in
            let errors = (error as? CKError)?.partialErrorsByItemID
            log.add("old \(metadata.share.url.map { errors?[$0] != nil } ?? false)")
        }
        await run(operation, on: trip.bo)
        #expect(log.all == ["true", "result true", "old true"])
    }

    @available(*, deprecated)
    @Test func participantOperationReportsEachLookup() async throws {
        let trip = try await Trip()
        let infos = [
            CKUserIdentity.LookupInfo(emailAddress: "bo@example.org"),
            CKUserIdentity.LookupInfo(emailAddress: ""),
        ]
        let log = Log()
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        operation.perShareParticipantResultBlock = { info, result in
            switch result {
            case .success(let participant):
                #expect(participant.permission == .readOnly && participant.role == .privateUser)
                #expect(
                    participant.acceptanceStatus == .pending && participant.type == .privateUser)
                log.add(participant.userIdentity.lookupInfo?.emailAddress ?? "")
            case .failure(let error):
                log.add("\(info == infos[1]) \((error as? CKError)?.code == .invalidArguments)")
            }
        }
        operation.shareParticipantFetchedBlock = { _ in log.add("old") }
        operation.fetchShareParticipantsResultBlock = { log.add("result \($0.failure == nil)") }
        operation.fetchShareParticipantsCompletionBlock = { error in
            log.add("\((error as? CKError)?.partialErrorsByItemID?[infos[1]] != nil)")
        }
        await run(operation, on: trip.ida)
        #expect(log.all == ["bo@example.org", "true true", "result true", "true"])

        let old = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        let found = Log()
        old.shareParticipantFetchedBlock = { found.add($0.participantID.isEmpty ? "" : "one") }
        await run(old, on: trip.ida)
        #expect(found.all == ["one"])
    }

    @Test func containerShareCompletionHandlersAreCalled() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let link = try #require(share.url)
        let metadata = try await withCheckedThrowingContinuation { continuation in
            trip.bo.fetchShareMetadata(with: link) { metadata, error in
                continuation.resume(
                    with: Result { try metadata ?? { throw error ?? CKError(.internalError) }() })
            }
        }
        let all = try await withCheckedThrowingContinuation { continuation in
            trip.bo.fetchShareMetadatas(for: [link]) { continuation.resume(with: $0) }
        }
        #expect(try all[link]?.get() == metadata)
        let shares = try await withCheckedThrowingContinuation { continuation in
            trip.bo.accept([metadata]) { continuation.resume(with: $0) }
        }
        #expect(try shares[metadata]?.get().recordID == metadata.share.recordID)
        let joined: CKShare? = await withCheckedContinuation { continuation in
            trip.bo.accept(metadata) { share, _ in continuation.resume(returning: share) }
        }
        #expect(joined?.recordID == metadata.share.recordID)
        #expect(try await trip.bo.accept([metadata])[metadata]?.failure == nil)
        #expect(try await trip.bo.shareMetadatas(for: [link]).count == 1)
    }

    @Test func shareMetadataNeedsAccount() async throws {
        let trip = try await Trip()
        let nobody = try await trip.cloud.container(Trip.identifier, user: nil, device: "kiosk")
        let link = try #require(try await trip.share().url)
        #expect(await codeOf { _ = try await nobody.shareMetadata(for: link) } == .notAuthenticated)
        let log = Log()
        let operation = CKFetchShareMetadataOperation(shareURLs: [link])
        operation.perShareMetadataResultBlock = { _, _ in log.add("item") }
        operation.fetchShareMetadataResultBlock = {
            log.add("\(($0.failure as? CKError)?.code == .notAuthenticated)")
        }
        await run(operation, on: nobody)
        #expect(log.all == ["true"])
    }

    @Test func cancelledAcceptReportsCancellation() async throws {
        let trip = try await Trip()
        let operation = CKAcceptSharesOperation(shareMetadatas: [])
        let log = Log()
        operation.acceptSharesResultBlock = {
            log.add("\(($0.failure as? CKError)?.code == .operationCancelled)")
        }
        operation.cancel()
        await run(operation, on: trip.bo)
        #expect(log.all == ["true"])
    }

    @Test func shareIsAcceptedInItsOwnContainer() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        let other = CKContainer(
            identifier: "iCloud.org.example.Other", connection: trip.bo.connection)
        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        _ = try await other.accept(metadata)
        #expect(try await other.sharedCloudDatabase.allRecordZones().isEmpty)
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().count == 1)
    }
}

/// Values that a test's callbacks received.
final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

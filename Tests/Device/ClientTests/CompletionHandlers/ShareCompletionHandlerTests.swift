import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers that fetch the metadata of shares and join shares.
@Suite struct ShareCompletionHandlerTests {
    @Test func shareHandlersGetMetadataAndJoinedShare() async throws {
        let trip = try await Trip()
        let (share, bo) = (try await trip.shareWithBo(), trip.bo)
        let link = try #require(share.url)
        let (fetched, metadataError) = await handled {
            bo.fetchShareMetadata(with: link, completionHandler: $0)
        }
        let metadata = try #require(fetched)
        #expect(metadata.hierarchicalRootRecordID?.recordName == "trail" && metadataError == nil)
        let (joined, joinError) = await handled { bo.accept(metadata, completionHandler: $0) }
        #expect(joined?.recordID == metadata.share.recordID && joinError == nil)
        #expect(joined?.currentUserParticipant?.acceptanceStatus == .accepted)
    }

    @Test func shareListHandlersGetResultForEachShare() async throws {
        let trip = try await Trip()
        let (share, bo) = (try await trip.shareWithBo(), trip.bo)
        let link = try #require(share.url)
        let bad = try #require(URL(string: "https://stratus.invalid/share/nothing"))
        let all = try await handledResult {
            bo.fetchShareMetadatas(for: [link, bad], completionHandler: $0)
        }
        #expect((all[bad]?.failure as? CKError)?.code == .unknownItem)
        let metadata = try #require(try all[link]?.get())
        let shares = try await handledResult { bo.accept([metadata], completionHandler: $0) }
        #expect(try shares[metadata]?.get().recordID == metadata.share.recordID)
    }

    @Test func metadataHandlerGetsErrorOfUnknownLink() async throws {
        let trip = try await Trip()
        let bo = trip.bo
        let bad = try #require(URL(string: "https://stratus.invalid/share/nothing"))
        let (metadata, error) = await handled {
            bo.fetchShareMetadata(with: bad, completionHandler: $0)
        }
        #expect(metadata == nil && (error as? CKError)?.code == .unknownItem)
    }
}

import Foundation
import StratusClient
import StratusTesting
import Testing

/// A cloud in which Ida has a zone with a trail, and a hut below it; Bo and Cy are other people.
struct Trip {
    static let identifier = "iCloud.org.example.Trails"

    let cloud = TestCloud()
    let ida: CKContainer
    let bo: CKContainer
    let cy: CKContainer
    let trail = hut("trail")
    let hutBelow = hut("hut")

    init() async throws {
        ida = try await cloud.container(
            Self.identifier, user: "ida@example.org", device: "ida's phone")
        bo = try await cloud.container(
            Self.identifier, user: "bo@example.org", device: "bo's phone")
        cy = try await cloud.container(
            Self.identifier, user: "cy@example.org", device: "cy's phone")
        try await ida.privateCloudDatabase.save(CKRecordZone(zoneID: trips))
        trail["region"] = "Alps"
        hutBelow.setParent(trail)
        hutBelow["beds"] = 4
        let results = try await ida.privateCloudDatabase.modifyRecords(
            saving: [trail, hutBelow, hut("diary")], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// Saves the share of the trail, as a tutorial does.
    func share(
        _ change: (CKShare) async throws -> Void = { _ in }
    ) async throws -> CKShare {
        let share = CKShare(rootRecord: trail)
        share[CKShare.SystemFieldKey.title] = "Sunday's trail"
        try await change(share)
        let results = try await ida.privateCloudDatabase.modifyRecords(
            saving: [trail, share], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        return share
    }

    /// A share to which Bo is invited.
    func shareWithBo(
        _ permission: CKShare.ParticipantPermission = .readWrite
    ) async throws -> CKShare {
        try await share { share in
            let participant = try await ida.shareParticipant(forEmailAddress: "bo@example.org")
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    /// Follows the link of a share.
    @discardableResult
    func join(_ share: CKShare, _ container: CKContainer) async throws -> CKShare {
        let link = try #require(share.url)
        return try await container.accept(try await container.shareMetadata(for: link))
    }

    /// The ID of the trip's zone for other users.
    func sharedZoneID() async throws -> CKRecordZone.ID {
        CKRecordZone.ID(
            zoneName: "Trips", ownerName: try await ida.userRecordID().recordName)
    }
}

/// Runs an operation of a container to its end.
func run(_ operation: CKOperation, on container: CKContainer) async {
    await withCheckedContinuation { continuation in
        operation.completionBlock = { continuation.resume() }
        container.add(operation)
    }
}

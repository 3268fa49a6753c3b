import Foundation
import StratusClient
import StratusTesting
import Testing

/// Discovery of users, its permission, and participants made from users.
@Suite struct UserIdentityTests {
    private func people() async throws -> (ida: CKContainer, bo: CKContainer) {
        let cloud = TestCloud()
        return (
            try await cloud.container(Trip.identifier, user: "ida@example.org", device: "ida"),
            try await cloud.container(Trip.identifier, user: "bo@example.org", device: "bo")
        )
    }

    /// Completion handlers for continuations that ignore the error.
    private static func handler<Value: Sendable>(
        of type: Value.Type
    ) -> @Sendable (CheckedContinuation<Value?, Never>) -> @Sendable (Value?, (any Error)?) -> Void
    {
        { continuation in { value, _ in continuation.resume(returning: value) } }
    }

    @available(*, deprecated)
    @Test func discoverableUserIsFound() async throws {
        let (ida, bo) = try await people()
        #expect(try await ida.userIdentity(forEmailAddress: "bo@example.org") == nil)
        #expect(
            try await bo.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
        #expect(try await bo.requestApplicationPermission(.userDiscoverability) == .granted)
        #expect(try await bo.applicationPermissionStatus(for: .userDiscoverability) == .granted)
        let boID = try await bo.userRecordID()
        let found = try #require(try await ida.userIdentity(forEmailAddress: "bo@example.org"))
        #expect(found.userRecordID == boID && found.hasiCloudAccount)
        #expect(found.lookupInfo?.emailAddress == "bo@example.org")
        #expect(found.contactIdentifiers.isEmpty)
        #expect(try await ida.userIdentity(forUserRecordID: boID)?.userRecordID == boID)
        #expect(try await ida.userIdentity(forPhoneNumber: "+4512345678") == nil)
        let byAddress = try await ida.userIdentities(
            forEmailAddresses: ["bo@example.org", "nobody@example.org"])
        #expect(byAddress.mapValues(\.userRecordID) == ["bo@example.org": boID])
        #expect(try await ida.userIdentities(forUserRecordIDs: [boID]).count == 1)
        #expect(try await ida.userIdentities(forPhoneNumbers: ["+4512345678"]).isEmpty)
        #expect(try await ida.allUserIdentitiesFromContacts().isEmpty)
    }

    @available(*, deprecated)
    @Test func discoveryCompletionHandlersReturnIdentities() async throws {
        let (ida, bo) = try await people()
        let boID = try await bo.userRecordID()
        let status = await withCheckedContinuation { continuation in
            bo.requestApplicationPermission(.userDiscoverability) { status, error in
                continuation.resume(returning: error == nil ? status : .couldNotComplete)
            }
        }
        #expect(status == .granted)
        let asked = await withCheckedContinuation { continuation in
            bo.status(forApplicationPermission: .userDiscoverability) { status, _ in
                continuation.resume(returning: status)
            }
        }
        #expect(asked == .granted)
        let handler = Self.handler(of: CKUserIdentity.self)
        let found = [
            await withCheckedContinuation {
                ida.discoverUserIdentity(
                    withEmailAddress: "bo@example.org", completionHandler: handler($0))
            },
            await withCheckedContinuation {
                ida.discoverUserIdentity(withUserRecordID: boID, completionHandler: handler($0))
            },
            await withCheckedContinuation {
                ida.discoverUserIdentity(
                    withPhoneNumber: "+4512345678", completionHandler: handler($0))
            },
        ]
        #expect(found.map { $0?.userRecordID } == [boID, boID, nil])
        let several = try await withCheckedThrowingContinuation { continuation in
            ida.discoverUserIdentities(forEmailAddresses: ["bo@example.org"]) {
                continuation.resume(with: $0)
            }
        }
        #expect(several.count == 1)
        let byPhone = try await withCheckedThrowingContinuation { continuation in
            ida.discoverUserIdentities(forPhoneNumbers: ["+45"]) { continuation.resume(with: $0) }
        }
        let byID = try await withCheckedThrowingContinuation { continuation in
            ida.discoverUserIdentities(forUserRecordIDs: [boID]) { continuation.resume(with: $0) }
        }
        #expect(byPhone.isEmpty && byID.count == 1)
        let contacts: [CKUserIdentity]? = await withCheckedContinuation { continuation in
            ida.discoverAllIdentities { identities, _ in continuation.resume(returning: identities)
            }
        }
        #expect(contacts == [])
    }

    @available(*, deprecated)
    @Test func discoveryOperationsReportIdentities() async throws {
        let (ida, bo) = try await people()
        _ = try await bo.requestApplicationPermission(.userDiscoverability)
        let log = Log()
        let infos = CKUserIdentity.LookupInfo.lookupInfos(
            withEmails: ["nobody@example.org", "bo@example.org"])
        let operation = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: infos)
        operation.userIdentityDiscoveredBlock = { identity, info in
            log.add("\(info == infos[1]) \(identity.hasiCloudAccount)")
        }
        operation.discoverUserIdentitiesResultBlock = { log.add("result \($0.failure == nil)") }
        operation.discoverUserIdentitiesCompletionBlock = { log.add("\($0 == nil)") }
        await run(operation, on: ida)
        #expect(log.all == ["true true", "result true", "true"])
        let all = Log()
        let everybody = CKDiscoverAllUserIdentitiesOperation()
        everybody.userIdentityDiscoveredBlock = { _ in all.add("somebody") }
        everybody.discoverAllUserIdentitiesResultBlock = { all.add("\($0.failure == nil)") }
        everybody.discoverAllUserIdentitiesCompletionBlock = { all.add("\($0 == nil)") }
        await run(everybody, on: ida)
        #expect(all.all == ["true", "true"])
    }

    @Test func shareParticipantIsMadeFromEachLookup() async throws {
        let (ida, bo) = try await people()
        let boID = try await bo.userRecordID()
        let byID = try await ida.shareParticipant(forUserRecordID: boID)
        #expect(byID.userIdentity.lookupInfo?.userRecordID == boID)
        let byPhone = try await ida.shareParticipant(forPhoneNumber: "+4512345678")
        #expect(byPhone.userIdentity.lookupInfo?.phoneNumber == "+4512345678")
        #expect(!byPhone.userIdentity.hasiCloudAccount && byPhone != byID)
        #expect(try await ida.shareParticipants(forUserRecordIDs: [boID])[boID]?.failure == nil)
        let byAddress = try await ida.shareParticipants(forEmailAddresses: ["bo@example.org"])
        #expect(try byAddress["bo@example.org"]?.get().permission == .readOnly)
        let results = try await ida.shareParticipants(forPhoneNumbers: ["+45", ""])
        #expect(results["+45"]?.failure == nil)
        #expect((results[""]?.failure as? CKError)?.code == .invalidArguments)
        #expect(
            await codeOf { _ = try await ida.shareParticipant(forEmailAddress: "") }
                == .invalidArguments)
    }

    @Test func participantCompletionHandlersReturnParticipants() async throws {
        let (ida, bo) = try await people()
        let boID = try await bo.userRecordID()
        let handler = Self.handler(of: CKShare.Participant.self)
        let found = [
            await withCheckedContinuation {
                ida.fetchShareParticipant(
                    withEmailAddress: "bo@example.org", completionHandler: handler($0))
            },
            await withCheckedContinuation {
                ida.fetchShareParticipant(withPhoneNumber: "+45", completionHandler: handler($0))
            },
            await withCheckedContinuation {
                ida.fetchShareParticipant(withUserRecordID: boID, completionHandler: handler($0))
            },
        ]
        #expect(found.allSatisfy { $0?.permission == .readOnly })
        let counts = [
            try await withCheckedThrowingContinuation { continuation in
                ida.fetchShareParticipants(forEmailAddresses: ["bo@example.org"]) {
                    continuation.resume(with: $0)
                }
            }.count,
            try await withCheckedThrowingContinuation { continuation in
                ida.fetchShareParticipants(forPhoneNumbers: ["+45", "+46"]) {
                    continuation.resume(with: $0)
                }
            }.count,
            try await withCheckedThrowingContinuation { continuation in
                ida.fetchShareParticipants(forUserRecordIDs: [boID]) {
                    continuation.resume(with: $0)
                }
            }.count,
        ]
        #expect(counts == [1, 2, 1])
    }

    @Test func participantInvitedByRecordIDAcceptsShare() async throws {
        let trip = try await Trip()
        let cyID = try await trip.cy.userRecordID()
        let share = try await trip.share { share in
            share.addParticipant(try await trip.ida.shareParticipant(forUserRecordID: cyID))
        }
        let joined = try await trip.join(share, trip.cy)
        #expect(joined.currentUserParticipant?.userIdentity.userRecordID == cyID)
        #expect(joined.currentUserParticipant?.permission == .readOnly)
    }
}

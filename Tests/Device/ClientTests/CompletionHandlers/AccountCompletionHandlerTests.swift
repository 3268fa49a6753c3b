import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers of the account, its permissions and its long-lived operations.
@Suite struct AccountCompletionHandlerTests {
    @Test func accountHandlersGetStatusAndUserRecordID() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        let (status, statusError) = await handled { ida.accountStatus(completionHandler: $0) }
        #expect(status == .available && statusError == nil)
        let (userID, userError) = await handled { ida.fetchUserRecordID(completionHandler: $0) }
        let expected = try await ida.userRecordID()
        #expect(userID == expected && userError == nil)
    }

    @Test func userRecordIDHandlerGetsErrorWithoutAccount() async throws {
        let cloud = TestCloud()
        let kiosk = try await cloud.container(Trip.identifier, user: nil, device: "kiosk")
        let (status, statusError) = await handled { kiosk.accountStatus(completionHandler: $0) }
        #expect(status == .noAccount && statusError == nil)
        let (userID, userError) = await handled { kiosk.fetchUserRecordID(completionHandler: $0) }
        #expect(userID == nil && (userError as? CKError)?.code == .notAuthenticated)
    }

    @Test func permissionHandlersGetStatus() async throws {
        let trip = try await Trip()
        let bo = trip.bo
        let (before, beforeError) = await handled {
            bo.status(forApplicationPermission: .userDiscoverability, completionHandler: $0)
        }
        #expect(before == .initialState && beforeError == nil)
        let (given, givenError) = await handled {
            bo.requestApplicationPermission(.userDiscoverability, completionHandler: $0)
        }
        #expect(given == .granted && givenError == nil)
        let (after, afterError) = await handled {
            bo.status(forApplicationPermission: .userDiscoverability, completionHandler: $0)
        }
        #expect(after == .granted && afterError == nil)
    }

    @Test(.timeLimit(.minutes(20)))
    func longLivedHandlersGetOperationOfEarlierProcess() async throws {
        let scratch = try Scratch()
        let path: String = scratch.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await LongLivedScene.runUntilKilled(.fetchZones, in: path) { _, operation in
                operation.longLivedOperationWasPersistedBlock = { kill(getpid(), SIGKILL) }
            }
        }
        let scene = try await LongLivedScene(path)
        let container = scene.container
        let (ids, listError) = await handled {
            container.fetchAllLongLivedOperationIDs(completionHandler: $0)
        }
        #expect(ids?.count == 1 && listError == nil)
        let id = try #require(ids?.first)
        let (found, fetchError) = await handled {
            container.fetchLongLivedOperation(withID: id, completionHandler: $0)
        }
        #expect(found?.operationID == id && fetchError == nil)
        let operation = try #require(found)
        let log = Log()
        LongLivedKind.fetchZones.listen(operation, log)
        await run(operation, on: container)
        #expect(log.all == LongLivedKind.fetchZones.reported)
        withExtendedLifetime(scratch) {}
    }

    @Test func longLivedHandlersGetNothingAtFirst() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        let (ids, listError) = await handled {
            ida.fetchAllLongLivedOperationIDs(completionHandler: $0)
        }
        #expect(ids == [] && listError == nil)
        let (operation, fetchError) = await handled {
            ida.fetchLongLivedOperation(withID: "none", completionHandler: $0)
        }
        #expect(operation == nil && fetchError == nil)
    }
}

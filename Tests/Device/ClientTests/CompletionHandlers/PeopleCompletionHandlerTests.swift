import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers that find people, and participants to add to a share.
@Suite struct PeopleCompletionHandlerTests {
    @Test func identityHandlersGetDiscoverablePerson() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        _ = try await trip.bo.requestApplicationPermission(.userDiscoverability)
        let boID = try await trip.bo.userRecordID()
        let (byAddress, addressError) = await handled {
            ida.discoverUserIdentity(withEmailAddress: "bo@example.org", completionHandler: $0)
        }
        #expect(byAddress?.userRecordID == boID && addressError == nil)
        let (byID, idError) = await handled {
            ida.discoverUserIdentity(withUserRecordID: boID, completionHandler: $0)
        }
        #expect(byID?.userRecordID == boID && idError == nil)
        // Accounts have no phone numbers, and the service has no address book.
        let (byPhone, phoneError) = await handled {
            ida.discoverUserIdentity(withPhoneNumber: "+4512345678", completionHandler: $0)
        }
        #expect(byPhone == nil && phoneError == nil)
        let (contacts, contactsError) = await handled {
            ida.discoverAllIdentities(completionHandler: $0)
        }
        #expect(contacts == [] && contactsError == nil)
    }

    @Test func identityListHandlersGetDiscoverablePeople() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        _ = try await trip.bo.requestApplicationPermission(.userDiscoverability)
        let boID = try await trip.bo.userRecordID()
        let byAddress = try await handledResult {
            ida.discoverUserIdentities(
                forEmailAddresses: ["bo@example.org", "cy@example.org"], completionHandler: $0)
        }
        #expect(byAddress.mapValues(\.userRecordID) == ["bo@example.org": boID])
        let byID = try await handledResult {
            ida.discoverUserIdentities(forUserRecordIDs: [boID], completionHandler: $0)
        }
        #expect(byID.mapValues(\.userRecordID) == [boID: boID])
        let byPhone = try await handledResult {
            ida.discoverUserIdentities(forPhoneNumbers: ["+4512345678"], completionHandler: $0)
        }
        #expect(byPhone.isEmpty)
    }

    @Test func participantHandlersGetParticipantToInvite() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        let boID = try await trip.bo.userRecordID()
        let (byAddress, addressError) = await handled {
            ida.fetchShareParticipant(withEmailAddress: "bo@example.org", completionHandler: $0)
        }
        #expect(byAddress?.userIdentity.lookupInfo?.emailAddress == "bo@example.org")
        #expect(byAddress?.permission == .readOnly && addressError == nil)
        let (byPhone, phoneError) = await handled {
            ida.fetchShareParticipant(withPhoneNumber: "+4512345678", completionHandler: $0)
        }
        #expect(byPhone?.userIdentity.lookupInfo?.phoneNumber == "+4512345678")
        #expect(phoneError == nil)
        let (byID, idError) = await handled {
            ida.fetchShareParticipant(withUserRecordID: boID, completionHandler: $0)
        }
        #expect(byID?.userIdentity.lookupInfo?.userRecordID == boID && idError == nil)
        let (refused, refusal) = await handled {
            ida.fetchShareParticipant(withEmailAddress: "", completionHandler: $0)
        }
        #expect(refused == nil && (refusal as? CKError)?.code == .invalidArguments)
    }

    @Test func participantListHandlersGetResultForEachPerson() async throws {
        let trip = try await Trip()
        let ida = trip.ida
        let boID = try await trip.bo.userRecordID()
        let byAddress = try await handledResult {
            ida.fetchShareParticipants(
                forEmailAddresses: ["bo@example.org", ""], completionHandler: $0)
        }
        #expect(try byAddress["bo@example.org"]?.get().permission == .readOnly)
        #expect((byAddress[""]?.failure as? CKError)?.code == .invalidArguments)
        let byPhone = try await handledResult {
            ida.fetchShareParticipants(forPhoneNumbers: ["+45"], completionHandler: $0)
        }
        #expect(try byPhone["+45"]?.get().userIdentity.lookupInfo?.phoneNumber == "+45")
        let byID = try await handledResult {
            ida.fetchShareParticipants(forUserRecordIDs: [boID], completionHandler: $0)
        }
        #expect(try byID[boID]?.get().userIdentity.lookupInfo?.userRecordID == boID)
    }
}

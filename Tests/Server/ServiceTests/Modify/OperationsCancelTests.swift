import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// A device cancels requests that were not answered: if they arrive later, they are refused.
@Suite struct OperationsCancelTests {
    private let world = World()

    /// Ida shares a hut with Bo, who may write, and with Cy, who may not.
    private struct Trip: SharedTrip {
        let people: Travellers
        private let link: String

        init() async throws {
            people = try await Travellers(World())
            let made = try await people.ida.modify(
                [
                    hut(.create, "hut", [beds(2)]),
                    share(
                        .create, "S", of: "hut", permission: SharePermission.none,
                        participants: [
                            invited("Bo@example.org", .readWrite), invited(people.cy),
                        ]),
                ], in: "Trips")
            link = try #require(made[1].record?.shortGUID)
        }

        func join(_ person: Person) async throws {
            let result = try await person.accept(link)
            #expect(result.metadata?.participantStatus == .accepted)
        }
    }

    private func cancel(
        _ operationIDs: [String], by person: Person, of owners: [String]? = nil,
        in scope: DatabaseScope = .private
    ) async throws {
        _ = try await person.ask(
            OperationsCancel.self,
            OperationsCancel.Request(operationIDs: operationIDs, ownerRecordNames: owners),
            in: scope)
    }

    @Test(arguments: Backend.allCases)
    func lateRequestOfCancelledSaveIsRefused(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        try await cancel(["save-1"], by: alice)
        let late = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.create, "hut")], zoneID: zone("Trips"), operationID: "save-1"))
        #expect(late?.error.code == .badRequest)
        #expect(try await alice.page("Trips").records.isEmpty)
        // Neither another operation nor another device's is affected.
        try await alice.modify([hut(.create, "hut")], in: "Trips", operationID: "save-2")
        let other = try await alice.at("tablet").modify(
            [hut(.create, "other")], in: "Trips", operationID: "save-1")
        #expect(other[0].record != nil)
    }

    @Test func cancelAfterCommitKeepsTheOutcome() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let operations = [hut(.create, "hut")]
        let first = try await alice.modify(operations, in: "Trips", operationID: "save-1")
        try await cancel(["save-1"], by: alice)
        #expect(try await alice.modify(operations, in: "Trips", operationID: "save-1") == first)
        #expect(try await alice.page("Trips").records.count == 1)
    }

    @Test func lateRequestOfCancelledZoneDeletionIsRefused() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await cancel(["zones-1"], by: alice)
        let late = await alice.refusal(
            ZonesModify.self,
            .init(operations: [.init(.delete, zone("Trips"))], operationID: "zones-1"))
        #expect(late?.error.code == .badRequest)
        #expect(try await alice.ask(ZonesList.self, .init()).items.count == 2)
    }

    @Test func lateRequestOfParticipantsCancelledSaveIsRefused() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await cancel(["1"], by: trip.bo, of: [trip.ida.name], in: .shared)
        let save = RecordsModify.Request(
            operations: [hut(.forceUpdate, "hut", [beds(5)])], zoneID: trip.trips, operationID: "1")
        let late = await trip.bo.refusal(RecordsModify.self, save, in: .shared)
        #expect(late?.error.code == .badRequest)
        // Nor are the owner's own operations.
        let own = try await trip.ida.modify(
            [hut(.forceUpdate, "hut", [beds(6)])], in: "Trips", operationID: "1")
        #expect(own[0].record != nil)
    }

    @Test func lateRequestOfCancelledLeaveKeepsTheShare() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        try await cancel(["leave-1"], by: trip.bo, of: [trip.ida.name], in: .shared)
        let late = await trip.bo.refusal(
            ZonesModify.self,
            .init(operations: [.init(.delete, trip.trips)], operationID: "leave-1"), in: .shared)
        #expect(late?.error.code == .badRequest)
        #expect(try await trip.bo.sharedZones().count == 1)
    }

    @Test func cancelWithoutAccessWritesNothingToTheOwnersDatabase() async throws {
        let trip = try await Trip()
        try await cancel(["1"], by: trip.eve, of: [trip.ida.name, "_nobody"], in: .shared)
        let store = try await trip.world.service.storage.store(
            for: DatabaseAddress(trip.world.address, .private(owner: trip.ida.name)))
        let key = OperationKey(user: trip.eve.name, device: trip.eve.device, operation: "1")
        #expect(try await store.read { try $0.outcome(of: key) } == nil)
        let databases = try await trip.world.service.storage.databases()
        #expect(!databases.contains { $0.tenant == .private(owner: "_nobody") })
    }

    @Test func cancellationExpiresWithTheIdempotencyRecords() async throws {
        let alice = try await world.person("alice", with: "Trips")
        try await cancel(["save-1"], by: alice)
        world.advance(seconds: Double(IdempotencyRecord.outcomeSeconds) + 1)
        try await alice.modify([hut(.create, "a")], in: "Trips", operationID: "save-2")
        let saved = try await alice.modify(
            [hut(.create, "hut")], in: "Trips", operationID: "save-1")
        #expect(saved[0].record != nil)
    }

    @Test func cancelWithReadAccessWritesNothingToTheOwnersDatabase() async throws {
        let trip = try await Trip()
        try await trip.join(trip.cy)
        try await cancel(["1"], by: trip.cy, of: [trip.ida.name], in: .shared)
        let store = try await trip.world.service.storage.store(
            for: DatabaseAddress(trip.world.address, .private(owner: trip.ida.name)))
        let key = OperationKey(user: trip.cy.name, device: trip.cy.device, operation: "1")
        #expect(try await store.read { try $0.outcome(of: key) } == nil)
    }

    @Test func operationsOfThePublicDatabaseAreNotCancelled() async throws {
        let alice = try await world.person("alice")
        let failure = await alice.refusal(
            OperationsCancel.self, OperationsCancel.Request(operationIDs: ["1"]), in: .public)
        #expect(failure?.error.frameworkCode == .badDatabase)
    }

    @Test func cancelOfTooManyOrEmptyIDsIsRefused() async throws {
        let alice = try await world.person("alice")
        let many = (0...OperationsCancel.maximumCount).map { "save-\($0)" }
        let failure = await alice.refusal(
            OperationsCancel.self, OperationsCancel.Request(operationIDs: many))
        #expect(failure?.error.frameworkCode == .limitExceeded)
        let empty = await alice.refusal(
            OperationsCancel.self, OperationsCancel.Request(operationIDs: [""]))
        #expect(empty?.error.code == .badRequest)
    }
}

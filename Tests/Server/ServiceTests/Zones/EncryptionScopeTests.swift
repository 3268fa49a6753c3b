import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Zones that are encrypted as a whole: the scope is set at creation, kept, and such zones are shared as a whole only.
@Suite struct EncryptionScopeTests {
    private func create(
        _ person: Person, _ scope: ZoneEncryptionScope?, operationID: String? = nil
    ) async throws -> ZoneResult {
        try await person.ask(
            ZonesModify.self,
            .init(
                operations: [.init(.create, zone("Vault"), encryptionScope: scope)],
                operationID: operationID)
        ).items[0]
    }

    @Test(arguments: Backend.allCases)
    func zoneKeepsItsEncryptionScope(_ backend: Backend) async throws {
        let ida = try await World(try backend.storage()).person("ida")
        #expect(try await create(ida, .perZone).zone?.encryptionScope == .perZone)
        #expect(try await create(ida, .perZone).zone?.encryptionScope == .perZone)
        for scope in [nil, ZoneEncryptionScope.perRecord] {
            let refusal = try #require(try await create(ida, scope).failure)
            #expect(refusal.code == .badRequest && refusal.frameworkCode == .serverRejectedRequest)
        }
        let list = try await ida.ask(ZonesList.self, .init()).items.compactMap(\.zone)
        #expect(Set(list.map(\.encryptionScope)) == [nil, .perZone])
        let found = try await ida.ask(ZonesLookup.self, .init([zone("Vault")])).items
        #expect(found[0].zone?.encryptionScope == .perZone)

        try await ida.deleteZone("Vault")
        #expect(try await create(ida, nil).zone?.encryptionScope == nil)
        let refusal = try await create(ida, .perZone).failure
        #expect(refusal?.frameworkCode == .serverRejectedRequest)
    }

    @Test func defaultZoneIsEncryptedPerRecord() async throws {
        let ida = try await World().person("ida")
        let answer = try await ida.ask(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("_defaultZone"), encryptionScope: .perZone)]))
        #expect(answer.items[0].failure?.frameworkCode == .serverRejectedRequest)
    }

    @Test func perZoneEncryptionAllowsZoneWideShareOnly() async throws {
        let world = World()
        let ida = try await world.person("ida@example.org")
        let bo = try await world.person("bo@example.org")
        _ = try await create(ida, .perZone)
        let made = try await ida.modify(
            [
                hut(.create, "trail"), hut(.create, "hut", parent: .some("trail")),
                share(.create, "S", of: "trail"),
            ], in: zone("Vault"), scope: .private)
        #expect(made.map { $0.failed?.error.frameworkCode } == [nil, nil, .serverRejectedRequest])
        let whole = try await ida.modify(
            [share(.create, ShareDictionary.zoneShareName, participants: [invited(bo)])],
            in: "Vault")
        _ = try await bo.accept(try #require(whole[0].record?.shortGUID))
        let seen = try await bo.sharedZones().compactMap(\.zone)
        #expect(seen.map(\.encryptionScope) == [.perZone])
    }

    @Test func requestWithAnotherScopeIsNotARepeatedRequest() async throws {
        let ida = try await World().person("ida")
        for _ in 0..<2 {
            #expect(try await create(ida, .perZone, operationID: "1").zone != nil)
        }
        let refusal = await ida.refusal(
            ZonesModify.self,
            .init(operations: [.init(.create, zone("Vault"))], operationID: "1"))
        #expect(refusal?.error.code == .badRequest)
    }

    @Test func encryptionScopeIsSentOnlyWithExtensions() async throws {
        let world = World()
        let ida = try await world.person("ida")
        _ = try await create(ida, .perZone)
        let answer = try await world.service.respond(
            to: ZonesList.self, .init(),
            from: Credentials(
                apiToken: ServiceSettings.developmentToken, webAuthToken: ida.token,
                clientID: "browser"), at: world.address, scope: .private
        ).answer
        #expect(answer.items.compactMap(\.zone?.zoneID.zoneName) == ["Vault", "_defaultZone"])
        #expect(answer.items.allSatisfy { $0.zone?.encryptionScope == nil })
    }
}

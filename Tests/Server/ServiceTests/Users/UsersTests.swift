import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Which users can find which others (wire.md §2.16–2.20), and the record that every user has.
@Suite struct UsersTests {
    private func person(
        _ world: World, _ name: String, isVerified: Bool = true, isDiscoverable: Bool? = nil
    ) async throws -> Person {
        let user = try await world.service.accounts.createUser(
            emailAddress: "\(name)@example.org", password: "correct horse",
            givenName: name.capitalized, familyName: "Holm", isEmailVerified: isVerified)
        let session = try await world.service.createSession(
            for: user.recordName, staysSignedIn: true, at: world.address)
        let person = Person(
            world: world, name: user.recordName, device: "phone", token: session.webAuthToken)
        if let isDiscoverable {
            let answer = try await person.ask(
                UsersPermission.self, .init(userDiscoverability: isDiscoverable), in: .public)
            #expect(answer.userDiscoverability == isDiscoverable)
        }
        return person
    }

    private func world(_ storage: any StorageEngine = SQLiteStorageEngine.inMemory()) -> World {
        World(storage, accounts: AccountSettings(passwordCost: .cheap))
    }

    private func discover(
        _ person: Person, _ infos: [UserLookupInfo], in scope: DatabaseScope = .public
    ) async throws -> [UserIdentityDictionary] {
        try await person.ask(UsersDiscover.self, .init(lookupInfos: infos), in: scope).items
    }

    @Test(arguments: Backend.allCases)
    func discoverableUserIsFoundByEmailAndRecordName(_ backend: Backend) async throws {
        let world = world(try backend.storage())
        let ida = try await person(world, "ida", isDiscoverable: true)
        let ole = try await person(world, "ole")
        for scope in DatabaseScope.allCases {
            let found = try await discover(
                ole,
                [
                    UserLookupInfo(emailAddress: "Ida@Example.org"),
                    UserLookupInfo(userRecordName: ida.name),
                    UserLookupInfo(phoneNumber: "+4512345678"),
                ], in: scope)
            #expect(found.map(\.userRecordName) == [ida.name, ida.name, nil])
            #expect(found[0].givenName == "Ida" && found[0].familyName == "Holm")
            #expect(found[0].lookupInfo?.emailAddress == "Ida@Example.org")
            #expect(found[1].emailAddress == nil)
            #expect(found[2].lookupInfo?.phoneNumber == "+4512345678")
        }
        let byAddress = try await ole.ask(
            UsersLookupEmail.self,
            .init(users: [
                .init(emailAddress: "nobody@example.org"), .init(emailAddress: "ida@example.org"),
            ]),
            in: .public)
        #expect(
            byAddress.items == [
                UserDictionary(
                    userRecordName: ida.name, firstName: "Ida", lastName: "Holm",
                    emailAddress: "ida@example.org")
            ])
        let byName = try await ole.ask(
            UsersLookupID.self, .init(users: [.init(userRecordName: ida.name)]), in: .private)
        #expect(byName.items.map(\.userRecordName) == [ida.name])
        #expect(byName.items.first?.emailAddress == nil)
    }

    @Test func undiscoverableUserLooksUnknown() async throws {
        let world = world()
        let ole = try await person(world, "ole")
        let never = try await person(world, "never")
        let noMore = try await person(world, "nomore", isDiscoverable: true)
        _ = try await noMore.ask(
            UsersPermission.self, .init(userDiscoverability: false), in: .public)
        let unverified = try await person(
            world, "unverified", isVerified: false, isDiscoverable: true)
        let disabled = try await person(world, "disabled", isDiscoverable: true)
        try await world.service.accounts.setDisabled(true, disabled.name)
        for name in ["never", "nomore", "unverified", "disabled", "nobody"] {
            let info = UserLookupInfo(emailAddress: "\(name)@example.org")
            let found = try await discover(ole, [info])
            var nobody = UserIdentityDictionary(userRecordName: nil)
            nobody.lookupInfo = info
            #expect(found == [nobody])
            let users = try await ole.ask(
                UsersLookupEmail.self, .init(users: [info]), in: .public
            ).items
            #expect(users.isEmpty)
        }
        for name in [never.name, noMore.name, disabled.name, "_nobody", ""] {
            let found = try await discover(ole, [UserLookupInfo(userRecordName: name)])
            #expect(found.map(\.userRecordName) == [nil])
        }
        // By the record name, which identifies one user.
        let byName = try await discover(ole, [UserLookupInfo(userRecordName: unverified.name)])
        #expect(byName.map(\.userRecordName) == [unverified.name])
        #expect(byName.first?.emailAddress == nil)
    }

    @Test func discoverabilityAppliesToOneContainer() async throws {
        let world = world()
        let ida = try await person(world, "ida", isDiscoverable: true)
        var elsewhere = world.address
        elsewhere.container += "2"
        let stranger = try await world.service.signInForDevelopment(user: "stranger")
        let found = try await world.service.respond(
            to: UsersDiscover.self,
            .init(lookupInfos: [.init(userRecordName: ida.name)]),
            from: Credentials(apiToken: "development", webAuthToken: stranger.webAuthToken),
            at: elsewhere, scope: .public)
        #expect(found.answer.items.map(\.userRecordName) == [nil])
    }

    @Test func callerReceivesOwnNameOnlyWhenDiscoverable() async throws {
        let world = world()
        let ida = try await person(world, "ida")
        let before = try await ida.ask(UsersCaller.self, .init(), in: .public).identity
        #expect(before == UserIdentityDictionary(userRecordName: ida.name))
        let permission = try await ida.ask(UsersPermission.self, .init(), in: .public)
        #expect(!permission.userDiscoverability)
        _ = try await ida.ask(
            UsersPermission.self, .init(userDiscoverability: true), in: .public)
        let after = try await ida.ask(UsersCaller.self, .init(), in: .private).identity
        #expect(after.givenName == "Ida" && after.emailAddress == "ida@example.org")
        let current = try await ida.ask(UsersCurrent.self, .init(), in: .private)
        #expect(current.firstName == "Ida" && current.lastName == "Holm")
        let own = try await discover(ida, [UserLookupInfo(userRecordName: ida.name)])
        #expect(own.map(\.userRecordName) == [ida.name])
    }

    @Test func userLookupsAreLimitedAndContactsAreEmpty() async throws {
        let world = world()
        let ole = try await person(world, "ole")
        let many = (0...Limits().operationsPerRequest).map {
            UserLookupInfo(emailAddress: "\($0)@example.org")
        }
        for refusal in [
            await ole.refusal(UsersDiscover.self, .init(lookupInfos: many), in: .public),
            await ole.refusal(UsersLookupEmail.self, .init(users: many), in: .public),
            await ole.refusal(UsersLookupID.self, .init(users: many), in: .public),
        ] {
            #expect(refusal?.error.frameworkCode == .limitExceeded)
        }
        #expect(try await discover(ole, []).isEmpty)
        let contacts = try await ole.ask(UsersLookupContacts.self, .init(), in: .public)
        #expect(contacts.items.isEmpty)
        for refusal in [
            await world.nobody.refusal(UsersDiscover.self, .init(lookupInfos: []), in: .public),
            await world.nobody.refusal(UsersLookupContacts.self, .init(), in: .public),
            await world.nobody.refusal(UsersPermission.self, .init(), in: .public),
        ] {
            #expect(refusal?.error.code == .authenticationRequired)
        }
    }

    // MARK: The Users record

    private func save(
        _ person: Person, _ name: String, kind: RecordsModify.Kind = .forceUpdate,
        type: String? = "Users", scope: DatabaseScope = .public
    ) async throws -> RecordResult {
        var record = RecordDictionary(recordName: name, recordType: type)
        if !kind.isDeletion {
            record.fields = .values([Field(name: "motto", value: .string("up"))])
        }
        return try await person.modify([.init(kind, record)], scope: scope)[0]
    }

    private func code(_ result: RecordResult) -> ServiceError.Code? {
        if case .failure(let failure) = result { failure.error.code } else { nil }
    }

    @Test(arguments: Backend.allCases)
    func userRecordExistsAndIsWritableByItsUser(_ backend: Backend) async throws {
        let world = world(try backend.storage())
        let ida = try await person(world, "ida")
        let ole = try await person(world, "ole")
        // Others see it once the user has used it.
        #expect(code(try await ole.lookup([ida.name], scope: .public)[0]) == .notFound)
        guard case .record(let first) = try await ida.lookup([ida.name], scope: .public)[0] else {
            Issue.record("The user's record is missing.")
            return
        }
        #expect(first.recordType == "Users" && first.recordName == ida.name)
        #expect(first.created?.userRecordName == ZoneID.currentUserName)
        #expect(code(try await save(ida, ida.name)) == nil)
        guard case .record(let seen) = try await ole.lookup([ida.name], scope: .public)[0] else {
            Issue.record("The user's record cannot be read by others.")
            return
        }
        #expect(try seen.fields.values() == [Field(name: "motto", value: .string("up"))])
        // With its change tag, like any record.
        let stale = try await ida.modify(
            [
                .init(
                    .update,
                    RecordDictionary(
                        recordName: ida.name, recordType: "Users",
                        recordChangeTag: first.recordChangeTag))
            ], scope: .public)[0]
        #expect(code(stale) == .conflict)
    }

    @Test(arguments: Backend.allCases)
    func privateDatabaseHasItsOwnUserRecord(_ backend: Backend) async throws {
        let world = world(try backend.storage())
        let ida = try await person(world, "ida")
        let ole = try await person(world, "ole")
        guard case .record(let first) = try await ida.lookup([ida.name], scope: .private)[0] else {
            Issue.record("The user's private record is missing.")
            return
        }
        #expect(first.recordType == "Users" && first.recordName == ida.name)
        #expect(code(try await save(ida, ida.name, scope: .private)) == nil)
        guard case .record(let shown) = try await ida.lookup([ida.name], scope: .public)[0] else {
            Issue.record("The user's public record is missing.")
            return
        }
        #expect(try shown.fields.values().isEmpty)
        // It can be saved before the first lookup.
        #expect(code(try await save(ole, ole.name, scope: .private)) == nil)
        for kind in [RecordsModify.Kind.forceUpdate, .create, .forceReplace, .forceDelete] {
            #expect(code(try await save(ole, ida.name, kind: kind, scope: .private)) == .badRequest)
        }
        #expect(code(try await ole.lookup([ida.name], scope: .private)[0]) == .notFound)
        #expect(
            code(try await save(ida, ida.name, kind: .forceDelete, scope: .private)) == .badRequest)
        #expect(code(try await save(ida, ida.name, kind: .create, scope: .private)) == .conflict)
        let query = await ida.refusal(
            RecordsQuery.self, .init(query: QueryDictionary(recordType: "Users")), in: .private)
        #expect(query?.error.reason == "Can't query system types")
        // Other zones have no user record.
        try await ida.makeZone("Trips")
        let elsewhere = try await ida.modify(
            [.init(.forceUpdate, RecordDictionary(recordName: ida.name, recordType: "Users"))],
            in: "Trips", isAtomic: false)[0]
        #expect(code(elsewhere) == .badRequest)
    }

    @Test func userRecordRefusesOtherUsersAndDeletion() async throws {
        let world = world()
        let ida = try await person(world, "ida")
        let ole = try await person(world, "ole")
        _ = try await ida.lookup([ida.name], scope: .public)
        for kind in [RecordsModify.Kind.forceUpdate, .create, .forceReplace, .forceDelete] {
            // Whether the record exists or not, others get the same answer.
            #expect(code(try await save(ole, ida.name, kind: kind)) == .accessDenied)
            #expect(code(try await save(ole, "_nobody", kind: kind)) == .accessDenied)
        }
        #expect(code(try await save(ida, ida.name, kind: .forceDelete)) == .badRequest)
        #expect(code(try await save(ida, ida.name, kind: .create)) == .conflict)
        #expect(code(try await save(ida, ida.name, type: "Hut")) == .badRequest)
        #expect(code(try await save(ida, "hut", type: "Users")) == .badRequest)
        let query = await ole.refusal(
            RecordsQuery.self, .init(query: QueryDictionary(recordType: "Users")), in: .public)
        #expect(query?.error.reason == "Can't query system types")
    }
}

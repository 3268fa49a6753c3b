import Crypto
import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Servers that sign their requests (wire.md §1.5).
@Suite struct ServerKeyTests {
    /// A server with a registered key.
    private struct Server {
        let world: World
        let key: P256.Signing.PrivateKey
        let identifier: String
        let userRecordName: String

        init(
            _ world: World, key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
        ) async throws {
            self.world = world
            self.key = key
            let row = try await world.service.accounts.addServerKey(
                key.publicKey.pemRepresentation, name: "test", for: world.address)
            identifier = row.identifier
            userRecordName = row.userRecordName
        }

        static let target =
            "/database/1/iCloud.org.example.Trails/development/public/records/query?clientId=a%20b"

        static func date(_ milliseconds: Int64) -> String {
            let style = Date.ISO8601FormatStyle()
            return Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(style)
        }

        /// Signs the parts; each may be replaced.
        func signature(
            date: String? = nil, body: String = "{}", target: String = target,
            signedTarget: String? = nil, signedHash: String? = nil, keyID: String? = nil
        ) throws -> RequestSignature {
            let date = date ?? Self.date(world.nowMilliseconds)
            let hash =
                signedHash ?? Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
            let message = "\(date):\(hash):\(signedTarget ?? target)"
            let signature = try key.signature(for: Data(message.utf8))
            return RequestSignature(
                keyID: keyID ?? identifier, date: date,
                signature: signature.derRepresentation.base64EncodedString(), target: target,
                body: Data(body.utf8))
        }

        func refusal<E: ServedEndpoint>(
            _ endpoint: E.Type, _ request: E.Request, _ signature: RequestSignature,
            in scope: DatabaseScope? = .public, at address: ContainerAddress? = nil,
            apiToken: String? = nil
        ) async -> ServiceError? {
            do {
                _ = try await world.service.respond(
                    to: endpoint, request,
                    from: Credentials(apiToken: apiToken, signature: signature),
                    at: address ?? world.address, scope: scope)
                return nil
            } catch {
                return error.error
            }
        }

        func refusal(
            _ signature: RequestSignature, at address: ContainerAddress? = nil,
            apiToken: String? = nil
        ) async -> ServiceError? {
            await refusal(ZonesList.self, .init(), signature, at: address, apiToken: apiToken)
        }
    }

    @Test func everySignedMessageFormIsAccepted() async throws {
        let server = try await Server(World(isForDevelopment: false))
        let path = String(Server.target.prefix { $0 != "?" })
        for signature in [
            try server.signature(),
            try server.signature(signedTarget: path),
            try server.signature(target: path),
            try server.signature(body: ""),
            try server.signature(body: "", signedHash: ""),
            try server.signature(body: "", signedTarget: path, signedHash: ""),
            try server.signature(keyID: server.identifier.uppercased()),
        ] {
            #expect(await server.refusal(signature) == nil)
        }
    }

    @Test func invalidSignaturesReturnTheSameError() async throws {
        let world = World(isForDevelopment: false)
        let server = try await Server(world)
        let stranger = try await Server(world)
        var others = world.address
        others.container += "2"
        let apiToken = try await world.service.accounts.createAPIToken(
            for: world.address, name: "app")
        let now = world.nowMilliseconds
        var bad: [RequestSignature] = [
            try server.signature(keyID: stranger.identifier),
            try server.signature(keyID: String(repeating: "0", count: 64)),
            try server.signature(keyID: ""),
            try server.signature(signedTarget: "/database/1/another/development/public/x"),
            try server.signature(signedHash: ""),
            try server.signature(date: Server.date(now - 601_000)),
            try server.signature(date: Server.date(now + 601_000)),
            try server.signature(date: "2026-11-21T06:00:00+00:00"),
            try server.signature(date: "2026-13-41T25:61:61Z"),
            try server.signature(date: "yesterday"), try server.signature(date: ""),
        ]
        for text in ["", "AAAA", "not base64!", String(repeating: "A", count: 4_000)] {
            var signature = try server.signature()
            signature.signature = text
            bad.append(signature)
        }
        var altered = try server.signature()
        altered.bodyHash[0] ^= 1
        bad.append(altered)
        var refusals: [ServiceError?] = []
        for signature in bad { refusals.append(await server.refusal(signature)) }
        refusals.append(await server.refusal(try server.signature(), at: others))
        refusals.append(await server.refusal(try server.signature(), apiToken: apiToken))
        let expected = ServiceError(.authenticationFailed, "Authentication failed")
        #expect(refusals.allSatisfy { $0 == expected }, "\(refusals)")
        #expect(expected.code.httpStatus == 401)
        // At the edges of the allowed time window it is accepted.
        for date in [now - 599_000, now + 599_000] {
            let refusal = await server.refusal(try server.signature(date: Server.date(date)))
            #expect(refusal == nil)
        }
    }

    @Test func signatureIsAcceptedOnceInEitherForm() async throws {
        let server = try await Server(World(isForDevelopment: false))
        // The signature is accepted, and the request is refused for another reason.
        let (once, empty) = (ZonesModify.self, ZonesModify.Request(operations: []))
        let signature = try server.signature()
        #expect(await server.refusal(once, empty, signature)?.code == .badRequest)
        #expect(await server.refusal(once, empty, signature)?.code == .authenticationFailed)
        // (r, n − s) is as valid as (r, s), and can be computed without the key.
        var twin = signature
        twin.signature = try Self.twin(of: signature.signature)
        #expect(twin.signature != signature.signature)
        #expect(await server.refusal(once, empty, twin)?.code == .authenticationFailed)
        // The other form alone is accepted.
        let other = try server.signature()
        var otherTwin = other
        otherTwin.signature = try Self.twin(of: other.signature)
        #expect(await server.refusal(once, empty, otherTwin)?.code == .badRequest)
        #expect(await server.refusal(once, empty, other)?.code == .authenticationFailed)
    }

    @Test func usedSignatureIsRefusedAfterRestart() async throws {
        let storage = try Backend.sqlite.storage()
        let world = World(storage, isForDevelopment: false)
        let server = try await Server(world)
        // The signatures are accepted, and the requests are refused for another reason.
        let (once, empty) = (ZonesModify.self, ZonesModify.Request(operations: []))
        let early = try server.signature()
        let late = try server.signature(date: Server.date(world.nowMilliseconds + 300_000))
        #expect(await server.refusal(once, empty, early)?.code == .badRequest)
        #expect(await server.refusal(once, empty, late)?.code == .badRequest)
        let again = World(storage, isForDevelopment: false)
        func refusal(_ signature: RequestSignature) async -> ServiceError? {
            do {
                _ = try await again.service.respond(
                    to: once, empty,
                    from: Credentials(apiToken: nil, signature: signature), at: world.address,
                    scope: .public)
                return nil
            } catch {
                return error.error
            }
        }
        #expect(await refusal(early)?.code == .authenticationFailed)
        #expect(await refusal(late)?.code == .authenticationFailed)
        let fresh = try server.signature(date: Server.date(world.nowMilliseconds + 306_000))
        #expect(await refusal(fresh)?.code == .badRequest)
    }

    /// A client that got no answer sends the same request again.
    @Test func repeatedSignedReadIsAnsweredAgain() async throws {
        let server = try await Server(World(isForDevelopment: false))
        let signature = try server.signature()
        for _ in 0..<3 { #expect(await server.refusal(signature) == nil) }
        // The signature covers the path alone; with another query it is a different request.
        let path = String(Server.target.prefix { $0 != "?" })
        #expect(await server.refusal(try server.signature(signedTarget: path)) == nil)
        var other = try server.signature(signedTarget: path)
        #expect(await server.refusal(other) == nil)
        other.target = path + "?clientId=another"
        #expect(await server.refusal(other)?.code == .authenticationFailed)
        server.world.advance(seconds: 601)
        #expect(await server.refusal(signature)?.code == .authenticationFailed)
    }

    @Test func repeatedSignedSubscriptionIsAnsweredWithItsFirstOutcome() async throws {
        let world = World(isForDevelopment: true)
        let server = try await Server(world)
        func send(
            _ operations: [SubscriptionsModify.Operation], _ signature: RequestSignature
        ) async throws -> SubscriptionsModify.Answer {
            try await world.service.respond(
                to: SubscriptionsModify.self, .init(operations),
                from: Credentials(apiToken: nil, signature: signature), at: world.address,
                scope: .public
            ).answer
        }
        let huts = SubscriptionDictionary(
            subscriptionID: "huts", kind: .query, query: QueryDictionary(recordType: "Hut"),
            firesOn: [.create])
        let create = try server.signature()
        let first = try await send([.init(.create, huts)], create)
        let delete = try server.signature()
        let deleted = try await send([.init(.delete, huts)], delete)
        // Neither is carried out again: the subscription stays deleted.
        #expect(try await send([.init(.create, huts)], create) == first)
        #expect(try await send([.init(.delete, huts)], delete) == deleted)
        let left = try await world.service.respond(
            to: SubscriptionsList.self, .init(),
            from: Credentials(apiToken: nil, signature: try server.signature()),
            at: world.address, scope: .public
        ).answer
        #expect(left.items.isEmpty)
    }

    @Test(arguments: [false, true])
    func repeatedSignedWriteIsAnsweredWithItsFirstOutcome(_ restarts: Bool) async throws {
        let storage = try Backend.sqlite.storage()
        let world = World(storage)
        let server = try await Server(world)
        let signature = try server.signature()
        let request = RecordsModify.Request(operations: [
            hut(.create, "a", [beds(1)]), hut(.create, nil), hut(.create, "no name"),
            hut(.create, "_no"),
        ])
        func send(_ world: World, _ signature: RequestSignature) async throws -> [RecordResult] {
            try await world.service.respond(
                to: RecordsModify.self, request,
                from: Credentials(apiToken: nil, signature: signature), at: world.address,
                scope: .public
            ).answer.records
        }
        let first = try await send(world, signature)
        let again = try await send(restarts ? World(storage) : world, signature)
        #expect(first.map(\.name) == again.map(\.name))
        #expect(first.map(\.code) == again.map(\.code))
        #expect(first[0].record?.recordChangeTag == again[0].record?.recordChangeTag)
        #expect(again[0].values["beds"] == .int64(1))
        // A new signature is a new request.
        let new = try await send(world, try server.signature())
        #expect(new[0].code == .conflict)
    }

    @Test func serverUsesPublicDatabaseAsItsOwnUser() async throws {
        let world = World(isForDevelopment: false)
        let server = try await Server(world)
        for scope in [DatabaseScope.private, .shared] {
            let refusal = await server.refusal(
                ZonesList.self, .init(), try server.signature(), in: scope)
            #expect(refusal?.code == .accessDenied)
        }
        let device = await server.refusal(
            TokensCreate.self, .init(apnsEnvironment: "development"), try server.signature(),
            in: nil)
        #expect(device?.code == .accessDenied)
        let answer = try await world.service.respond(
            to: RecordsModify.self,
            .init(operations: [
                .init(.create, RecordDictionary(recordName: "hut", recordType: "Hut"))
            ]),
            from: Credentials(apiToken: nil, signature: try server.signature()),
            at: world.address, scope: .public)
        #expect(answer.rotatedWebAuthToken == nil)
        guard case .record(let record) = answer.answer.records[0] else {
            Issue.record("\(answer.answer.records)")
            return
        }
        #expect(record.created?.userRecordName == server.userRecordName)
        let caller = try await world.service.respond(
            to: UsersCaller.self, .init(),
            from: Credentials(apiToken: nil, signature: try server.signature()),
            at: world.address, scope: .public)
        #expect(caller.answer.identity.userRecordName == server.userRecordName)
    }

    @Test func revokedServerKeyIsRefused() async throws {
        let world = World(isForDevelopment: false)
        let server = try await Server(world)
        #expect(await server.refusal(try server.signature()) == nil)
        try await world.service.accounts.revokeServerKey(server.identifier)
        #expect(await server.refusal(try server.signature())?.code == .authenticationFailed)
        await #expect(throws: ServiceError.self) {
            try await world.service.accounts.revokeServerKey(server.identifier)
        }
    }

    @Test func onlyP256PublicKeysAreRegistered() async throws {
        let world = World(isForDevelopment: false)
        for pem in [
            "", "x", P384.Signing.PrivateKey().publicKey.pemRepresentation,
            P256.Signing.PrivateKey().pemRepresentation,
        ] {
            await #expect(throws: ServiceError.self) {
                try await world.service.accounts.addServerKey(pem, name: "x", for: world.address)
            }
        }
        #expect(try await world.service.accounts.serverKeys().isEmpty)
    }

    /// The other signature (r, n − s) of the same message.
    private static func twin(of text: String) throws -> String {
        let der = try #require(Data(base64Encoded: text))
        let raw = [UInt8](try P256.Signing.ECDSASignature(derRepresentation: der).rawRepresentation)
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xFF,
            0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC,
            0x63,
            0x25, 0x51,
        ]
        var difference = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            var digit = Int(order[index]) - Int(raw[32 + index]) - borrow
            borrow = digit < 0 ? 1 : 0
            if digit < 0 { digit += 256 }
            difference[index] = UInt8(digit)
        }
        let twin = try P256.Signing.ECDSASignature(
            rawRepresentation: Data(raw[..<32] + difference))
        return twin.derRepresentation.base64EncodedString()
    }
}

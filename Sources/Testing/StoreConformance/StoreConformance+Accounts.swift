import StratusRecords
import StratusStorage

extension StoreConformance {
    static let accounts: [Case] = [
        Case("API tokens keep their origins, are listed by age and deleted") { storage in
            let directory = storage.directory
            let young = APITokenRow(
                token: "a", address: container, name: "web",
                allowedOrigins: ["https://a.example.org", "https://b.example.org"],
                callbackURL: "https://a.example.org/in", createdMilliseconds: 9)
            let old = APITokenRow(
                token: "b", address: container, name: "app", createdMilliseconds: 3)
            try await directory.put(young)
            try await directory.put(old)
            try expect(await directory.apiTokens(), equals: [old, young])
            try expect(await directory.apiToken("a"), equals: young)
            try await directory.deleteAPIToken("a")
            try await directory.deleteAPIToken("a")
            try expect(await directory.apiTokens(), equals: [old])
        },

        Case("containers are listed in order") { storage in
            let directory = storage.directory
            var other = container
            other.environment = .production
            for address in [other, container] { try await directory.createContainer(address) }
            try expect(await directory.containers(), equals: [container, other])
        },

        Case("a user's account is updated, except for its names") { storage in
            let directory = storage.directory
            var ida = UserRow(
                recordName: "_ida", name: "ida@example.org", emailAddress: "ida@example.org",
                passwordHash: "hash", givenName: "Ida", createdMilliseconds: 7)
            try expect(await directory.insert(ida), equals: ida)
            try expect(await directory.user(named: "ida@example.org"), equals: ida)
            ida.isDisabled = true
            ida.familyName = "Holm"
            ida.isBeingRemoved = true
            ida.passwordHash = nil
            var renamed = ida
            renamed.name = "other"
            try expect(await directory.update(renamed), equals: true)
            try expect(await directory.user(recordName: "_ida"), equals: ida)
            try expect(await directory.user(named: "other"), equals: nil)
            try expect(await directory.usersBeingRemoved(), equals: [ida])
            let nobody = UserRow(recordName: "_nobody", name: "nobody")
            try expect(await directory.update(nobody), equals: false)
            try expect(await directory.user(recordName: "_nobody"), equals: nil)
        },

        Case("a verified e-mail address belongs to one user") { storage in
            let directory = storage.directory
            let address = "ida@example.org"
            var ida = UserRow(recordName: "_ida", name: "ida", emailAddress: address)
            var eve = UserRow(recordName: "_eve", name: "eve", emailAddress: address)
            for user in [ida, eve] { _ = try await directory.insert(user) }
            try expect(await directory.user(verifiedEmailAddress: address), equals: nil)
            ida.isEmailVerified = true
            eve.isEmailVerified = true
            try expect(await directory.update(ida), equals: true)
            try expect(await directory.update(ida), equals: true)
            try expect(await directory.update(eve), equals: false)
            try expect(await directory.user(verifiedEmailAddress: address), equals: ida)
            ida.isEmailVerified = false
            try expect(await directory.update(ida), equals: true)
            try expect(await directory.update(eve), equals: true)
            try expect(await directory.user(verifiedEmailAddress: address), equals: eve)
        },

        Case("users are listed page by page") { storage in
            let directory = storage.directory
            let names = ["_a", "_b", "_c", "_d"]
            for name in names.reversed() {
                _ = try await directory.insert(UserRow(recordName: name, name: "user \(name)"))
            }
            let first = try await directory.users(after: "", limit: 3)
            try expect(first.map(\.recordName), equals: ["_a", "_b", "_c"])
            let rest = try await directory.users(after: "_c", limit: 3)
            try expect(rest.map(\.recordName), equals: ["_d"])
        },

        Case("a deleted user loses sessions, identities, devices and keys; other users keep theirs")
        { storage in
            let directory = storage.directory
            for name in ["_ida", "_bob"] {
                _ = try await directory.insert(UserRow(recordName: name, name: name))
                try await directory.put(
                    SessionRow(
                        identifier: "session \(name)", userRecordName: name, staysSignedIn: false,
                        createdMilliseconds: 1))
                try await directory.put(IdentityRow(issuer: "i", subject: name), of: name)
                try await directory.setDiscoverable(true, name, in: container)
                try await directory.put(
                    DeviceRow(
                        pushToken: "device \(name)", address: container, userRecordName: name,
                        clientID: "", lastUsedMilliseconds: 1, isRegistered: true))
                try await directory.put(serverKey("key \(name)", user: name))
                try await directory.setRole("editor", of: name, in: container, isAssigned: true)
            }
            try await directory.deleteUser("_ida")
            for (name, isThere) in [("_ida", false), ("_bob", true)] {
                let members = try await directory.schema(of: container).members
                let found = [
                    members.contains { $0.user == name },
                    try await directory.user(recordName: name) != nil,
                    try await directory.user(named: name) != nil,
                    try await directory.session("session \(name)") != nil,
                    try await directory.user(identity: .init(issuer: "i", subject: name)) != nil,
                    try await directory.isDiscoverable(name, in: container),
                    try await directory.device(pushToken: "device \(name)") != nil,
                    try await directory.serverKey("key \(name)") != nil,
                ]
                try expect(found, equals: Array(repeating: isThere, count: found.count))
            }
            let again = UserRow(recordName: "_ida2", name: "_ida")
            try expect(await directory.insert(again), equals: again)
        },

        Case("sessions know their container and use, and end by user and age") { storage in
            let directory = storage.directory
            func session(_ name: String, _ user: String, stays: Bool, used: Int64) -> SessionRow {
                SessionRow(
                    identifier: name, userRecordName: user, staysSignedIn: stays,
                    createdMilliseconds: 1, address: stays ? container : nil,
                    lastUsedMilliseconds: used)
            }
            let rows = [
                session("a", "_ida", stays: false, used: 10),
                session("b", "_ida", stays: true, used: 10),
                session("c", "_bob", stays: false, used: 20),
            ]
            for row in rows { try await directory.put(row) }
            for row in rows { try expect(await directory.session(row.identifier), equals: row) }
            try await directory.touchSession(
                "b", usedMilliseconds: 30, device: "phone")
            try await directory.touchSession("b", usedMilliseconds: 25, device: nil)
            try expect(await directory.session("b")?.lastUsedMilliseconds, equals: 30)
            try expect(await directory.session("b")?.device, equals: "phone")
            try expect(
                await directory.sessions(of: "_ida").map(\.identifier), equals: ["a", "b"])
            try await directory.touchSession("none", usedMilliseconds: 30, device: nil)
            try expect(await directory.session("none"), equals: nil)
            try await directory.deleteSessions(staysSignedIn: false, unusedSince: 20)
            try expect(await directory.session("a"), equals: nil)
            try expect(await directory.session("c"), equals: rows[2])
            try await directory.deleteSessions(staysSignedIn: true, unusedSince: 30)
            try expect(await directory.session("b") != nil, equals: true)
            let starts: [(name: String, ended: [String])] = [("d", []), ("e", ["b"])]
            for (name, ended) in starts {
                let new = session(name, "_ida", stays: true, used: 40)
                try expect(
                    await directory.begin(new, sessionsPerUser: 2, passwordHash: nil),
                    equals: ended)
                try expect(await directory.session(name), equals: new)
            }
            _ = try await directory.insert(
                UserRow(recordName: "_bob", name: "bob", passwordHash: "1"))
            for (hash, ended) in [("0", nil), ("1", [])] as [(String, [String]?)] {
                let new = session("f" + hash, "_bob", stays: true, used: 40)
                try expect(
                    await directory.begin(new, sessionsPerUser: 9, passwordHash: hash),
                    equals: ended)
                try expect(await directory.session(new.identifier) != nil, equals: ended != nil)
            }
            try expect(
                await directory.updateUser("_bob", endingSessions: true) { $0.isDisabled = true },
                equals: true)
            try expect(await directory.user(recordName: "_bob")?.isDisabled, equals: true)
            try expect(await directory.session("c"), equals: nil)
            try expect(await directory.session("d") != nil, equals: true)
        },

        Case("an identity stays linked to its first user") { storage in
            let directory = storage.directory
            for name in ["_ida", "_bob"] {
                _ = try await directory.insert(UserRow(recordName: name, name: name))
            }
            let identity = IdentityRow(issuer: "https://id.example.org", subject: "1")
            try expect(await directory.user(identity: identity), equals: nil)
            try await directory.put(identity, of: "_ida")
            try await directory.put(identity, of: "_bob")
            try expect(await directory.user(identity: identity)?.recordName, equals: "_ida")
            let other = IdentityRow(issuer: "https://other.example.org", subject: "1")
            try expect(await directory.user(identity: other), equals: nil)
        },

        Case("discoverability is set per container") { storage in
            let directory = storage.directory
            var production = container
            production.environment = .production
            try await directory.setDiscoverable(true, "_ida", in: container)
            try await directory.setDiscoverable(true, "_ida", in: container)
            try expect(await directory.isDiscoverable("_ida", in: container), equals: true)
            try expect(await directory.isDiscoverable("_ida", in: production), equals: false)
            try expect(await directory.isDiscoverable("_bob", in: container), equals: false)
            try await directory.setDiscoverable(false, "_ida", in: container)
            try expect(await directory.isDiscoverable("_ida", in: container), equals: false)
        },

        Case("a server's key remembers which of its signatures were used") { storage in
            let directory = storage.directory
            var key = serverKey("k", user: "_server")
            try await directory.put(key)
            try expect(await directory.serverKey("k"), equals: key)
            try await directory.spend(serverKey: "k", through: 50)
            try await directory.spend(serverKey: "k", through: 40)
            key.spentThroughMilliseconds = 50
            try expect(await directory.serverKeys(), equals: [key])
            try await directory.deleteServerKey("k")
            // A request in progress does not restore a revoked key.
            try await directory.spend(serverKey: "k", through: 60)
            try expect(await directory.serverKeys(), equals: [])
        },
    ]

    private static func serverKey(_ identifier: String, user: String) -> ServerKeyRow {
        ServerKeyRow(
            identifier: identifier, address: container, name: "name", publicKey: "PEM",
            userRecordName: user, createdMilliseconds: 4)
    }
}

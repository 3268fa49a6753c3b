import AppDevice
import Foundation
import ShoppingCore
import StratusClient
import Testing

@testable import shopping

/// Typed commands whose meaning others can influence.
@Suite(.timeLimit(.minutes(20)))
struct SessionTests {
    private let world: ShoppingWorld
    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("shopping-\(UUID().uuidString)").path

    init() throws { world = try ShoppingWorld() }

    private func session(_ store: ShoppingStore, user: String) async throws -> ShoppingSession {
        let account = Account(
            environment: ["STRATUS_URL": "http://127.0.0.1:8080", "STRATUS_DEV_USER": user],
            app: "shopping", content: "The lists stay")
        return ShoppingSession(
            store: store, folder: try DeviceFolder(path: path + user), account: account,
            terminal: TerminalOutput(isInteractive: false), deviceName: "phone")
    }

    /// Bob has his own list and has joined one of Alice's; then she gives it the name of his.
    @Test func listOfAnotherPersonIsNotTakenForTheOwnOne() async throws {
        defer { try? FileManager.default.removeItem(atPath: path + world.bob) }
        let phone = try await world.open("phone", user: world.alice)
        let bobs = try await world.open("bobs", user: world.bob)
        let own = try await bobs.create(title: "Groceries")
        try await bobs.sync()
        let trap = try await phone.create(title: "Party")
        try await phone.share(trap)
        let his = try await bobs.join(
            try #require(try await phone.invite([world.bob], to: trap).link))
        try await phone.perform([.renameList(title: "groceries\u{1B}]0;x\u{7}")], in: trap)
        try await phone.sync()
        try await bobs.sync()
        let session = try await session(bobs, user: world.bob)
        _ = await session.allLists()
        #expect(try await session.openList("2") == "groceries ]0;x  is open.")
        try await phone.perform([.renameList(title: "groceries")], in: trap)
        try await phone.sync()
        try await bobs.sync()
        _ = try await session.openList("Groceries")
        #expect(await session.openListID == own)
        let owner = try #require(await bobs.sharing(of: his)?.owner?.name)
        let lines = await session.allLists().split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.contains { $0.hasSuffix(" groceries of \(owner) (0 to buy)") })
        #expect(await session.openOrAwait("GROCERIES") == "Groceries is open.")
        try await bobs.delete(own)
        #expect(try await session.make("Groceries") == "The list Groceries is made and open.")
    }

    /// The user goes on with the lists, which still sync.
    @Test func refusedSignOutDoesNotEndSyncing() async throws {
        defer { try? FileManager.default.removeItem(atPath: path + world.alice) }
        let phone = try await world.open("phone", user: world.alice)
        let weekly = try await phone.create(title: "Groceries")
        // More than fits into a record.
        let itemID = String(repeating: "much ", count: 300_000)
        try await phone.perform([.note(itemID: itemID, text: "much")], in: weekly)
        await phone.start()
        let session = try await session(phone, user: world.alice)
        let refusal = await #expect(throws: CannotDo.self) { try await session.signOut("") }
        // The command shopping sign-out prints it too, with its own flag.
        #expect(
            refusal?.description
                == "Nothing is removed: the service refused 1 change. Type refused in shopping to "
                + "decide, or type signout anyway to lose what was refused.")
        #expect(try await phone.status().isRunning)
        try await phone.close()
    }

    /// It has no integer before it, which would end the process.
    @Test func smallestIntegerIsTheNumberOfNothing() async throws {
        await #expect(processExitsWith: .success) {
            let tests = try SessionTests()
            let user = tests.world.alice
            defer { try? FileManager.default.removeItem(atPath: tests.path + user) }
            let phone = try await tests.world.open("phone", user: user)
            let weekly = try await phone.create(title: "Groceries")
            let session = try await tests.session(phone, user: user)
            await session.open(weekly)
            let number = String(Int.min)
            for command in [
                Command.tick(number), .undo(number), .open(list: number), .dismiss(number),
            ] {
                await #expect(throws: (any Error).self) { try await session.answer(to: command) }
            }
        }
    }

    /// A person who joins while the list of people is shown takes no number that was shown.
    @Test func shownNumberKeepsItsPersonWhenAnotherJoins() async throws {
        defer { try? FileManager.default.removeItem(atPath: path + world.alice) }
        let phone = try await world.open("phone", user: world.alice)
        for user in [world.bob, "aaron@example.org"] {
            try await world.open(user, user: user).sync()
        }
        let weekly = try await phone.create(title: "Groceries")
        try await phone.share(weekly)
        try await phone.invite([world.bob], to: weekly)
        let session = try await session(phone, user: world.alice)
        await session.open(weekly)
        let shown = try await session.people()
        try await phone.invite(["aaron@example.org"], to: weekly)
        let number = try #require(
            shown.split(separator: "\n").last { !$0.hasPrefix("Link") }?.first)
        let left = try #require(await phone.sharing(of: weekly)).others
        try #require(left.count == 2)
        _ = try await session.dismiss(String(number))
        let rest = try #require(await phone.sharing(of: weekly)).others
        #expect(rest.count == 1)
        #expect(try await session.people().contains("(may write, invited)"))
        #expect(!shown.contains(rest[0].name))
    }

    /// Approving applies to the requests that were shown, not to later ones.
    @Test func onlyShownRequestsAreApproved() async throws {
        defer { try? FileManager.default.removeItem(atPath: path + world.alice) }
        let phone = try await world.open("phone", user: world.alice)
        let strangers = ["carol@example.org", "mallory@example.org"]
        var stores: [ShoppingStore] = []
        for user in strangers {
            stores.append(try await world.open(user, user: user))
            try await stores[stores.count - 1].sync()
        }
        let weekly = try await phone.create(title: "Groceries")
        try await phone.share(weekly)
        let link = try #require(
            try await phone.setLink(.invitedOnly, takesRequests: true, of: weekly).link)
        let session = try await session(phone, user: world.alice)
        await session.open(weekly)
        try await stores[0].askToJoin(link)
        try await phone.sync()
        let shown = try await session.people()
        #expect(shown.components(separatedBy: "asks to join").count == 2)
        try await stores[1].askToJoin(link)
        try await phone.sync()
        #expect(try await session.answerRequests(approving: true).split(separator: "\n").count == 1)
        try await phone.sync()
        #expect(await phone.sharing(of: weekly)?.requests.count == 1)
        _ = try await stores[0].join(link)
        let refusal = await #expect(throws: SharingRefused.self) {
            _ = try await stores[1].join(link)
        }
        #expect(refusal?.reason == .notInvited)
        #expect(
            try await session.answerRequests(approving: false)
                == "There are new requests; type people first.")
        _ = try await session.people()
        #expect(try await session.answerRequests(approving: false).contains("is denied."))
    }

    @Test func jsonOutputHasNoControlCharacters() throws {
        let text = "a\u{1B}[31m\u{9B}2J\u{202E}\u{200D}\u{7F}\u{2028}é\"👩‍👩‍👧"
        let json = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self)
        let shown = json.jsonShownInTerminal
        #expect(try JSONDecoder().decode([String].self, from: Data(shown.utf8)) == [text])
        let steering = shown.unicodeScalars.filter {
            $0.properties.generalCategory == .control || $0.properties.generalCategory == .format
                || $0 == "\u{2028}"
        }
        #expect(steering.isEmpty)
    }

    @Test func invalidURLAndSignInElsewhereAreReported() {
        func account(_ url: String?, keepsSignIn: Bool) -> Account {
            Account(
                environment: url.map { ["STRATUS_URL": $0] } ?? [:], app: "shopping",
                content: "The lists stay", keepsSignIn: keepsSignIn)
        }
        for url in ["foo", "ftp://example.org", "http://", "127.0.0.1:8080"] {
            let reason = account(url, keepsSignIn: false).localOnlyReason
            #expect(reason?.contains("STRATUS_URL is \"\(url)\"") == true, "\(url)")
        }
        for url in [nil, "foo", "http://127.0.0.1:1"] {
            let account = account(url, keepsSignIn: true)
            let notice = account.signInElsewhere ?? ""
            #expect(!notice.isEmpty && account.localOnlyReason?.hasSuffix(notice) == true)
        }
        #expect(account("http://127.0.0.1:1", keepsSignIn: false).signInElsewhere == nil)
    }
}

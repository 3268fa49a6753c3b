import Foundation
import TestProcesses
import Testing

/// The shopping app as two people use it: real programs, one service, and a simulated terminal.
@Suite(.timeLimit(.minutes(20)))
struct ShoppingTogetherTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Types lines into a person's app until it ends.
    ///
    /// - Returns: what it printed.
    private func shop(
        _ user: String, _ arguments: [String] = [], at instance: ServedInstance? = nil,
        typing lines: [String] = []
    ) throws -> String {
        let (input, output) = (Pipe(), Pipe())
        let process = try ChildProcess(
            [
                BuiltProgram.named("shopping").path, "--data",
                folder.path + "/" + user,
            ] + arguments,
            input: input.fileHandleForReading, output: output.fileHandleForWriting,
            environment: environment(user, instance))
        for end in [input.fileHandleForReading, output.fileHandleForWriting] { try end.close() }
        try input.fileHandleForWriting.write(
            contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(process.end() == 0)
        return String(decoding: printed, as: UTF8.self)
    }

    private func environment(_ user: String, _ instance: ServedInstance?) -> [String: String] {
        guard let instance else { return [:] }
        return [
            "STRATUS_URL": instance.url, "STRATUS_API_TOKEN": "development",
            "STRATUS_DEV_USER": user + "@example.org", "STRATUS_DEVICE_ID": user + "s-phone",
        ]
    }

    @Test func twoPeopleShareList() throws {
        let instance = try ServedInstance(dataFolder: nil)
        // The service knows Bob from his first sync.
        #expect(try shop("bob", at: instance, typing: ["sync"]).contains("In step"))
        let shared = try shop(
            "alice", at: instance,
            typing: ["new Groceries", "add Milk; Bread", "share", "invite bob@example.org"])
        let link = try #require(
            shared.split(separator: "\n").last { $0.hasPrefix("Link: ") }?.dropFirst(6))
        let joined = try shop(
            "bob", at: instance, typing: ["join \(link)", "show", "tick milk", "sync"])
        #expect(joined.contains("Groceries is open.") && joined.contains("[ ] Bread"))
        #expect(
            try shop("bob", at: instance, typing: ["join \(link)"]).contains(
                "on this device already"))
        let seen = try shop(
            "alice", at: instance,
            typing: ["sync", "show", "people", "activity", "stop", "sync", "people"])
        #expect(seen.contains("[x] Milk"))
        #expect(seen.contains("Milk ticked by"))
        #expect(seen.contains("(may write)"))
        #expect(seen.contains("Groceries is not shared; type share."))
        let ended = try shop("bob", at: instance, typing: ["sync", "lists"])
        #expect(ended.contains("There is no list yet"))
        #expect(instance.terminate() == 0)
    }

    /// The app does not show “in step” while the service refuses a change, and says how to go online again.
    @Test func refusedChangeIsReportedAsNotSynced() throws {
        let instance = try ServedInstance(dataFolder: nil)
        _ = try shop("bob", at: instance, typing: ["sync"])
        let shared = try shop(
            "alice", at: instance, typing: ["new Party", "add Wine", "share", "link read", "sync"])
        let link = try #require(
            shared.split(separator: "\n").last { $0.hasPrefix("Link: ") }?.dropFirst(6))
        let seen = try shop(
            "bob", at: instance,
            typing: [
                "join \(link)", "tick wine", "sync", "refused", "giveup", "sync", "offline", "sync",
            ]
        ).split(separator: "\n").filter { $0 != "." && !$0.hasPrefix("* ") }
        #expect(seen.dropFirst().first == "Wine ticked.")
        #expect(
            seen.dropFirst(2).first == "Not synced: the service refused 1 change; type refused.")
        #expect(seen.dropFirst(3).first?.hasPrefix("1 tick Wine: ") == true)
        #expect(
            seen.suffix(4) == [
                "The refused changes are dropped.", "In step with the service.",
                "Offline: changes wait on this device. Type online to connect again.",
                "You are offline; type online first.",
            ])
        #expect(instance.terminate() == 0)
    }

    /// Lists from before there was an account are sent to it, and a command that ends at once has sent its changes.
    @Test func listMadeBeforeSignInIsSentAndItsDeletionIsPermanent() throws {
        let instance = try ServedInstance(dataFolder: nil)
        func onNewDevice(_ command: [String]) throws -> String {
            try FileManager.default.removeItem(atPath: folder.path + "/alice")
            _ = try shop("alice", ["do", "sync"], at: instance)
            return try shop("alice", ["do"] + command, at: instance)
        }
        _ = try shop("alice", ["do", "new", "Party"])
        #expect(try shop("alice", ["do", "sync"], at: instance) == "In step with the service.\n")
        #expect(try onNewDevice(["lists"]).contains("Party"))
        #expect(
            try shop("alice", ["do", "delete", "Party"], at: instance) == "Party is deleted.\n")
        #expect(try onNewDevice(["lists"]).contains("There is no list yet"))
        #expect(instance.terminate() == 0)
    }

    @Test func listIsPrintedForPrograms() throws {
        #expect(
            try shop("alice", ["do", "new", "Food"]) == "The list Food is made and open.\n")
        #expect(try shop("alice", ["do", "add", "milk"]) == "milk added (Dairy & Eggs).\n")
        struct List: Decodable {
            struct Item: Decodable {
                let name, aisle: String
                let isTicked: Bool
            }
            let title: String
            let items: [Item]
        }
        let text = try shop("alice", ["show", "--json"])
        let list = try JSONDecoder().decode(List.self, from: Data(text.utf8))
        #expect(list.title == "Food" && list.items.map(\.name) == ["milk"])
        #expect(list.items.map(\.aisle) == ["Dairy & Eggs"] && !list.items[0].isTicked)
        #expect(try shop("alice", ["show"]).contains("1  [ ] milk"))
    }

    /// Serves the lists as a page to a browser on this machine, until a signal stops it.
    @Test func pageRequiresTheSecretInItsAddress() throws {
        _ = try shop("alice", ["do", "new", "Food"])
        _ = try shop("alice", ["do", "add", "milk"])
        let output = Pipe()
        let process = try ChildProcess(
            [
                BuiltProgram.named("shopping").path, "--data",
                folder.path + "/alice", "web",
            ], output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let line = try output.fileHandleForReading.readLine()
        let address = try #require(line.firstMatch(of: /http:\/\/(127.0.0.1:(\d+))\/#(\w{32})$/))
        let connection = try RawConnection(port: Int(address.2) ?? 0)
        func answer(
            _ path: String, secret: Substring
        ) throws -> (status: Int, head: String, body: String) {
            try connection.ask(
                "GET \(path) HTTP/1.1\r\nHost: \(address.1)\r\n"
                    + "Authorization: Bearer \(secret)\r\n\r\n")
        }
        #expect(try answer("/", secret: "").body.contains("<title>Shopping</title>"))
        #expect(try answer("/api/activity", secret: "").status == 401)
        let seen = try answer("/api/activity", secret: address.3)
        #expect(seen.status == 200 && seen.body.contains("milk added"))
        #expect(process.end(with: SIGTERM) == 0)
    }

    private func window(
        columns: UInt16 = 40, rows: UInt16 = 10, environment: [String: String] = ["NO_COLOR": "1"]
    ) throws -> TerminalWindow {
        try TerminalWindow(
            [BuiltProgram.named("shopping").path, "--data", folder.path + "/alice"],
            columns: columns, rows: rows, environment: environment)
    }

    /// The screen in a terminal: drawn, controlled by keys, and removed afterwards.
    @Test func screenIsDrivenByKeys() throws {
        _ = try shop("alice", ["do", "new", "Food"])
        let window = try window()
        try window.wait(for: "Nothing to buy; press a to add.")
        try window.type("amilk\r")
        try window.wait(for: "> [ ] milk")
        try window.type("\u{1B}")
        try window.wait(for: "Food (1 to buy) [planning]")
        window.forget()
        try window.wait(for: "a add  space tick")
        try window.type(" ")
        try window.wait(for: "> [x] milk")
        #expect(!window.shown.contains("\u{1B}[7m"))
        try window.type("q")
        try window.wait(for: "\u{1B}[?1049l")
        #expect(window.process.end() == 0)
    }

    /// Alice shares a list, invites Bob and removes him, all on the share sheet.
    @Test func listIsSharedFromTheShareSheet() throws {
        let instance = try ServedInstance(dataFolder: nil)
        #expect(try shop("bob", at: instance, typing: ["sync"]).contains("In step"))
        _ = try shop("alice", at: instance, typing: ["new Food", "sync"])
        let window = try window(
            columns: 80, rows: 24,
            environment: environment("alice", instance).merging(["NO_COLOR": "1"]) { $1 })
        try window.wait(for: "Nothing to buy; press a to add.")
        try window.type("p")
        try window.wait(for: "> Food is not shared")
        try window.type("s")
        try window.wait(for: "  Link:")
        try window.wait(for: "http://127.0.0.1:")
        window.forget()
        try window.type("i")
        try window.wait(for: ":invite _")
        try window.type("bob@example.org\r")
        try window.wait(for: "Invited: bob@example.org")
        try window.wait(for: "(may write, invited)")
        window.forget()
        try window.type("\u{1B}[B")
        try window.wait(for: "> 2 ")
        try window.type("d")
        try window.wait(for: ":dismiss 2_")
        window.forget()
        try window.type("\r")
        try window.wait(for: "is removed from the list.")
        #expect(!window.shown.contains("invited)"))
        window.forget()
        try window.type("\u{1B}")
        try window.wait(for: "a add  space tick")
        try window.type("q")
        try window.wait(for: "\u{1B}[?1049l")
        #expect(window.process.end() == 0)
        #expect(instance.terminate() == 0)
    }

    /// A resized window is redrawn at once, and mistyped keys do nothing.
    @Test func resizedWindowIsRedrawn() throws {
        _ = try shop("alice", ["do", "new", "Food"])
        _ = try shop("alice", ["do", "add", "a very long name of something to buy"])
        let window = try window()
        try window.wait(for: "a very long name of somethin")
        window.forget()
        try window.resize(columns: 80, rows: 24)
        try window.wait(for: "a very long name of something to buy")
        try window.wait(for: "\u{1B}[24;1H")
        window.forget()
        try window.type([0xFF, 0xC3, 0x28, 0x80, 0x01, 0x1B, 0x5B, 0x39, 0x39, 0x7E])
        try window.type("?")
        try window.wait(for: "Any key goes back to the list.")
        window.forget()
        try window.resize(columns: 40, rows: 10)
        try window.wait(for: "\u{1B}[10;1H")
        #expect(!window.shown.contains("Any key goes back"))
        try window.type("\u{1B}[6~\u{1B}[6~")
        try window.wait(for: "Any key goes back to the list.")
        try window.type("xq")
        try window.wait(for: "\u{1B}[?1049l")
        #expect(window.process.end() == 0)
    }

    /// The terminal shows libraries' log lines only if they are asked for.
    @Test(arguments: [nil, "notice"])
    func logLinesAreShownOnlyIfEnabled(_ level: String?) throws {
        let instance = try ServedInstance(dataFolder: nil)
        let errors = Pipe()
        var environment = environment("alice", instance)
        environment["STRATUS_LOG"] = level
        let process = try ChildProcess(
            [
                BuiltProgram.named("shopping").path, "--data", folder.path + "/logs", "--offline",
                "do", "lists",
            ],
            error: errors.fileHandleForWriting, environment: environment)
        try errors.fileHandleForWriting.close()
        let text = String(
            decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(process.end() == 0)
        #expect(text.contains("stratus.cache") == (level != nil), "\(text)")
        #expect(level != nil || text.isEmpty)
        #expect(instance.terminate() == 0)
    }
}

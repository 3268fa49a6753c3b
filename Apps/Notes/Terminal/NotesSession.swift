import AppDevice
import CloudKit
import NotesCore
import StratusRuntime

/// One person at one device: what each line does, and what other devices' changes print.
actor NotesSession {
    let controller: NoteController
    let account: Account
    let terminal = TerminalOutput(isInteractive: isatty(STDIN_FILENO) != 0)
    /// Open for as long as the session, so that no other process uses it.
    private let folder: LockedFolder
    private var isOpen = true
    private var isQuiet = false
    private var watching: Task<Void, Never>?
    private var listening: Task<Void, Never>?

    init(
        controller: NoteController, folder: LockedFolder, account: Account, isOffline: Bool
    ) {
        self.controller = controller
        self.folder = folder
        self.account = account
        self.isOffline = isOffline
    }

    private let isOffline: Bool

    /// Starts the session; for one command it prints nothing by itself and receives no pushes.
    func begin(isQuiet: Bool = false) async {
        self.isQuiet = isQuiet
        let (controller, world) = (controller, World.live)
        watching = world.startTask("changes") {
            for await event in controller.events { await self.printEvent(event) }
        }
        if isOffline { await controller.setOffline(true) }
        await controller.start()
        if !isQuiet, account.serviceURL != nil {
            listening = world.startTask("pushes") { await controller.listen() }
        }
    }

    func end() async {
        listening?.cancel()
        await controller.close()
        await watching?.value
    }

    func converse() async {
        await begin()
        if terminal.isInteractive {
            terminal.answer(await shown() + "\nType ? for help.")
        }
        let input = InputLines()
        while isOpen {
            terminal.prompt("notes> ")
            guard let line = await input.next() else {
                if terminal.isInteractive { terminal.announce("") }
                break
            }
            terminal.lineEntered()
            if terminal.isInteractive, line.allSatisfy(\.isWhitespace) { continue }
            do {
                terminal.answer(try await answer(to: try NoteCommand(line)))
            } catch {
                terminal.answer("\(error)")
            }
        }
    }

    func answer(to command: NoteCommand) async throws -> String {
        switch command {
        case .help: return NoteCommand.helpText
        case .show: return await shown()
        case .json: return try await json()
        case .write(let text): return try await type(text)
        case .add(let line): return try await add(line)
        case .other:
            return await controller.copy.overruled.map(plain)
                ?? "No text of yours has lost to another one."
        case .restore:
            guard let overruled = await controller.copy.overruled else {
                throw OneSentence(
                    "No text of yours has lost to another one, so nothing is restored."
                )
            }
            return try await type(overruled)
        case .sync:
            try requireAccount()
            await controller.sync()
            return await statusLines()
        case .offline, .online:
            try requireAccount()
            await controller.setOffline(command == .offline)
            return await statusLines()
        case .status: return await statusLines()
        case .signOut(let anyway): return try await signOut(anyway: anyway)
        case .quit:
            isOpen = false
            return ""
        }
    }

    private func type(_ text: String) async throws -> String {
        do { try await controller.type(text) } catch { throw notWritten(error) }
        return await statusLines()
    }

    private func add(_ line: String) async throws -> String {
        do { try await controller.append(line) } catch { throw notWritten(error) }
        return await statusLines()
    }

    private func notWritten(_ error: any Error) -> OneSentence {
        OneSentence(
            "The note could not be written to \(folder.path), and is as it was: "
                + "\((error as NSError).localizedDescription)")
    }

    private func requireAccount() throws {
        if let reason = account.localOnlyReason { throw OneSentence(reason) }
    }

    func signOut(anyway: Bool) async throws -> String {
        guard controller.container.connection.hasAccount else {
            return "No user is signed in on this device; to sign in, run notes sign-in."
        }
        guard try await controller.prepareSignOut(anyway: anyway) else {
            throw OneSentence(
                "Not signed out: the note could not be sent. Connect and try again, or "
                    + "add --anyway and lose what was typed since the last save.")
        }
        isOpen = false
        do {
            try await controller.container.signOut()
        } catch let error as CKError where error.code != .invalidArguments {
            return
                "You are signed out here, and the note is removed. The service was not notified: \(error.localizedDescription)"
        }
        return
            "You are signed out, and the note is removed from this device. It will be here again when you sign in."
    }

    // MARK: What is shown

    /// The note's text: unchanged for a program, without control characters for a terminal.
    private func plain(_ text: String) -> String {
        terminal.isInteractive ? text.shownInTerminal : text
    }

    private func shown() async -> String {
        let text = await controller.text
        return (text.isEmpty ? "(empty)" : plain(text)) + "\n" + (await statusLines())
    }

    private func statusLines() async -> String {
        let status = await controller.status
        let lines = account.localOnlyReason.map { [$0] } ?? status.lines
        let colours = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
        guard terminal.isInteractive, colours.isEmpty else {
            return lines.map { "-- " + $0 }.joined(separator: "\n")
        }
        let colour = status.error == nil ? "\u{1B}[2m" : "\u{1B}[33m"
        return lines.map { "\(colour)-- \($0)\u{1B}[0m" }.joined(separator: "\n")
    }

    func json() async throws -> String {
        struct Shown: Encodable {
            let text: String
            let modified: Date?
            let state: String
            let availability: String
            let error: String?
            let isSubscribed: Bool
        }
        let (copy, status) = (await controller.copy, await controller.status)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        let data = try encoder.encode(
            Shown(
                text: copy.text, modified: copy.modified, state: status.step.rawValue,
                availability: status.availabilitySentence, error: status.error,
                isSubscribed: copy.isSubscribed))
        return String(decoding: data, as: UTF8.self).jsonShownInTerminal
    }

    /// Prints an event that no command asked for, if a person or a program is reading.
    private func printEvent(_ event: NoteController.Event) async {
        guard !isQuiet, isOpen else { return }
        switch event {
        case .textChanged(let text):
            terminal.announce("* Changed elsewhere:\n" + (text.isEmpty ? "(empty)" : plain(text)))
        case .statusChanged(let status):
            if let error = status.error, error != lastError { terminal.announce("* " + error) }
            lastError = status.error
        }
    }

    private var lastError: String?
}

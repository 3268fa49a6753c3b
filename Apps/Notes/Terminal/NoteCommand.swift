import AppDevice
import StratusRuntime

/// A line that a person or a program types.
enum NoteCommand: Hashable, Sendable {
    case help, show, json, other, restore, sync, offline, online, status, quit
    case write(String)
    case add(String)
    case signOut(anyway: Bool)

    static let helpText = """
        write TEXT     make this the note; \\n begins a new line
        add TEXT       add a line
        show           show the note, and how far it is
        other          show the text that lost when two devices had changed the note
        restore        make that text the note
        sync           send and fetch now
        offline        work without the service; online connects again
        status         whether the note is in the cloud, and what is wrong
        json           the same for programs
        sign-out       send what waits, take the note from this device, and sign out
        quit
        """

    init(_ line: String) throws {
        let words = line.drop(while: \.isWhitespace)
            .split(maxSplits: 1, whereSeparator: \.isWhitespace)
        let rest = words.count > 1 ? String(words[1]) : ""
        switch words.first.map({ $0.lowercased() }) {
        case "?", "help", nil: self = .help
        case "write": self = .write(rest.replacing("\\n", with: "\n"))
        case "add": self = .add(rest)
        case "show": self = .show
        case "json": self = .json
        case "other": self = .other
        case "restore": self = .restore
        case "sync": self = .sync
        case "offline": self = .offline
        case "online": self = .online
        case "status": self = .status
        case "sign-out": self = .signOut(anyway: rest.contains("anyway"))
        case "quit", "exit": self = .quit
        case let word?:
            throw OneSentence("There is no command \(word); ? lists them.")
        }
    }
}

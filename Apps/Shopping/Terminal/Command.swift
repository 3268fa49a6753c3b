/// A line that a person typed, understood as far as it can be without the lists.
enum Command: Hashable, Sendable {
    case nothing
    case help, lists, paste, notices, show, offline, online, sync, status, quit
    case new(title: String)
    case open(list: String)
    case add(String)
    case suggest(String)
    case tick(String), untick(String), remove(String)
    case rename(String)
    case title(String)
    case colour(String)
    case move(String)
    case copy(list: String)
    case planning, shopping
    case take(String)

    /// What is wrong with the line, as a sentence.
    struct NotUnderstood: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a line.
    init(_ line: String) throws(NotUnderstood) {
        let text = Command.trimmed(line)
        let word = text.prefix { !$0.isWhitespace }.lowercased()
        let rest = Command.trimmed(text.dropFirst(word.count))
        func needed(_ what: String) throws(NotUnderstood) -> String {
            guard !rest.isEmpty else {
                throw NotUnderstood(description: "Type \(word) and \(what).")
            }
            return rest
        }
        switch word {
        case "": self = .nothing
        case "help", "?": self = .help
        case "lists": self = .lists
        case "paste": self = .paste
        case "notices": self = .notices
        case "show", "ls": self = .show
        case "offline": self = .offline
        case "online": self = .online
        case "sync": self = .sync
        case "status": self = .status
        case "quit", "exit": self = .quit
        case "new": self = .new(title: try needed("the new list's title"))
        case "open": self = .open(list: try needed("a list's title or number"))
        case "add": self = .add(try needed("what to buy"))
        case "suggest": self = .suggest(try needed("the beginning of a product's name"))
        case "tick": self = .tick(try needed("an item's name or number"))
        case "untick": self = .untick(try needed("an item's name or number"))
        case "remove", "rm": self = .remove(try needed("an item's name or number"))
        case "rename": self = .rename(try needed("ITEM to NEW NAME"))
        case "title": self = .title(try needed("the list's new title"))
        case "colour", "color": self = .colour(try needed("a colour's name"))
        case "move": self = .move(try needed("ITEM after OTHER ITEM, or ITEM first"))
        case "copy": self = .copy(list: try needed("the title of the list to copy from"))
        case "take": self = .take(try needed("a notice's name or number, or all"))
        case "mode":
            switch rest.lowercased() {
            case "planning": self = .planning
            case "shopping": self = .shopping
            default:
                throw NotUnderstood(description: "Type mode planning or mode shopping.")
            }
        default:
            throw NotUnderstood(description: "There is no command \"\(word)\"; type help.")
        }
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let rest = text.drop(while: \.isWhitespace)
        return String(rest.reversed().drop(while: \.isWhitespace).reversed())
    }

    /// The parts between semicolons, without the empty ones.
    static func parts(_ text: String) -> [String] {
        text.split(separator: ";").map { trimmed($0) }.filter { !$0.isEmpty }
    }

    /// Every way to cut a text in two at a word, the last cut first.
    static func cuts(_ text: String, at word: String) -> [(left: String, right: String)] {
        let words = text.split(whereSeparator: \.isWhitespace)
        return words.indices.dropFirst().reversed().compactMap { index in
            guard words[index].lowercased() == word, index + 1 < words.endIndex else { return nil }
            return (
                words[..<index].joined(separator: " "),
                words[(index + 1)...].joined(separator: " ")
            )
        }
    }

    static let helpText = """
        Lists
          new TITLE              make a list and open it
          lists                  all lists
          open TITLE             open a list, by title or number
          show                   the open list, by aisle, with numbers
          title TEXT             rename the open list
          colour NAME            give it a colour
          copy LIST              add everything from another list
        Items (ITEM is a name, the beginning of a name, or the number that show gives)
          add TEXT [after ITEM]  add an item; several between semicolons
          paste                  add many lines, up to an empty one
          suggest TEXT           products that begin like this
          tick ITEM              mark as bought; untick takes the mark away
          remove ITEM            take off the list
          rename ITEM to TEXT    change what it says
          move ITEM after ITEM   change the order; or: move ITEM first
        In the shop
          mode shopping          rows stay in place; what others add waits as notices
          notices                what waits
          take ITEM              put a notice on the list; or: take all
          mode planning          every change shows at once
        Devices
          sync                   send and fetch now, and wait for it
          offline / online       work without a network; nothing is lost
          status                 is everything sent, and why not
          quit                   leave; the rest is sent next time
        """
}

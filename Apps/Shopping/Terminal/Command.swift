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
    case share, people, leave, stop, approve, deny
    case invite(String), link(String), dismiss(String), join(String), ask(String)
    case delete(String)
    case activity, refused, retry, giveUp, clear, duplicates, merge, refetch
    case undo(String), history(String), note(String), count(String), category(String)
    case picture(String), view(String), notify(String), signOut(String)

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
                throw NotUnderstood(
                    description: "The word \(word) needs more; type \(word) and \(what).")
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
                throw NotUnderstood(
                    description: "There is no mode \"\(rest)\"; type mode planning or mode "
                        + "shopping.")
            }
        default:
            let plain: [String: Command] = [
                "share": .share, "people": .people, "leave": .leave, "stop": .stop,
                "approve": .approve, "deny": .deny, "activity": .activity, "refused": .refused,
                "retry": .retry, "giveup": .giveUp, "clear": .clear, "duplicates": .duplicates,
                "merge": .merge, "refetch": .refetch,
            ]
            if word == "signout" {
                self = .signOut(rest.lowercased())
            } else if let command = plain[word] {
                self = command
            } else {
                self = try Command(word: word, needed)
            }
        }
    }

    /// Reads the commands for sharing and the others that need arguments.
    private init(
        word: String, _ needed: (String) throws(NotUnderstood) -> String
    ) throws(NotUnderstood) {
        switch word {
        case "invite": self = .invite(try needed("the e-mail addresses of the people to invite"))
        case "link": self = .link(try needed("closed, ask, read or write"))
        case "dismiss": self = .dismiss(try needed("a person's name or number"))
        case "join": self = .join(try needed("the link that you were sent"))
        case "ask": self = .ask(try needed("the link that you were sent"))
        case "delete": self = .delete(try needed("the open list's title"))
        case "undo": self = .undo(try needed("a number that activity shows"))
        case "history": self = .history(try needed("a product"))
        case "count": self = .count(try needed("ITEM is NUMBER"))
        case "note": self = .note(try needed("ITEM is TEXT"))
        case "category": self = .category(try needed("ITEM is NAME"))
        case "picture": self = .picture(try needed("ITEM is PATH, or ITEM alone"))
        case "view": self = .view(try needed("an item's name or number"))
        case "notify": self = .notify(try needed("adds, ticks or nothing"))
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
          delete TITLE           delete the open list, or leave another person's
        Items (ITEM is a name, the beginning of a name, or the number that show gives)
          add TEXT [after ITEM]  add an item; several between semicolons
          paste                  add many lines, up to an empty one
          suggest TEXT           products that begin like this
          tick ITEM              mark as bought; untick takes the mark away
          remove ITEM            take off the list
          rename ITEM to TEXT    change what it says
          move ITEM after ITEM   change the order; or: move ITEM first
          count ITEM is NUMBER   how many; also: add 2 × milk
          note ITEM is TEXT      say more of an item; note ITEM takes it away
          category ITEM is NAME  sort it under a category of your own
          picture ITEM is PATH   give it a picture; picture ITEM takes it away, view ITEM says where it is
          clear                  take what is bought off the list
          duplicates / merge     what is there twice; keep the first of each
        What happened
          activity / undo N      who did what; take it back
          history PRODUCT        when it was bought
          refused                what the service refused; then retry or giveup
        Other people
          share / people         share the open list; who shares it, and its link
          invite ADDRESSES       invite people by e-mail address
          link closed|ask|read|write   what everybody may do who has the link
          approve / deny         answer those who ask to join
          dismiss PERSON         take somebody out
          stop                   share no more; the list stays yours
          join LINK / ask LINK   join another person's list; ask to be let in
          leave                  leave it
          notify adds ticks      which changes of others ring and stay in a line
        In the shop
          mode shopping          rows stay in place; what others add waits as notices
          notices                what waits
          take ITEM              put a notice on the list; or: take all
          mode planning          every change is shown immediately
        Devices
          sync                   send and fetch now, and wait for it
          offline / online       work without a network; nothing is lost
          status                 is everything sent, and why not
          refetch                fetch everything again
          signout                remove your lists from this device, when all is sent
          quit                   leave; the rest is sent next time
        """
}

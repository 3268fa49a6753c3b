/// The share sheet: who shares the list, and what can be done about it.
extension ScreenModel {
    /// Handles a key on the sheet; an unknown key returns to the list.
    ///
    /// Commands that end something for others are prefilled in the input, and run with Enter.
    mutating func sheet(_ key: ScreenKey) -> Intent? {
        switch key {
        case .up: moveOnSheet(-1)
        case .down: moveOnSheet(1)
        case .pageUp: moveOnSheet(-10)
        case .pageDown: moveOnSheet(10)
        case .delete, .backspace, .character("d"):
            guard let number = personNumber else {
                message = "No person is chosen; choose one with Up and Down."
                return nil
            }
            begin("dismiss \(number)")
        case .character("i"): begin("invite ")
        case .character("l"): begin("link ")
        case .character("s"): return .command("share")
        case .character("y"): return .command("approve")
        case .character("n"): return .command("deny")
        case .character("x"): begin("stop")
        case .character("v"): begin("leave")
        case .character(":"): begin("")
        default:
            page = .list
            scroll = 0
        }
        return nil
    }

    static let sheetKeys = "s share  i invite  d remove  l link  y, n requests  x stop  v leave"

    /// The number of the chosen person. People come first, one per line; the name of someone who asks to join is listed
    /// further below, and may begin like another person's number.
    private var personNumber: Int? {
        guard pageLines.indices.contains(sheetPlace),
            pageLines[sheetPlace].hasPrefix("\(sheetPlace + 1) ")
        else { return nil }
        return sheetPlace + 1
    }

    private mutating func begin(_ command: String) {
        input = command
        typesCommand = true
    }

    private mutating func moveOnSheet(_ count: Int) {
        sheetPlace = min(max(sheetPlace + count, 0), max(0, pageLines.count - 1))
    }

    /// The sheet's lines, with a mark at the chosen one.
    var sheetLines: [Line] {
        pageLines.enumerated().map { index, text in
            let isHere = index == sheetPlace
            return Line(text: (isHere ? "> " : "  ") + text, style: isHere ? .cursor : .plain)
        }
    }
}

import ShoppingCore

/// Drawing the screen: as many lines as the terminal has, none longer than it is wide.
extension ScreenModel {
    /// What a part of a line is, for terminals that show colours.
    enum Style: Hashable, Sendable {
        case plain, heading, cursor, ticked, notice, changed

        /// The terminal's codes.
        var code: String {
            switch self {
            case .plain: ""
            case .heading: "1;36"
            case .cursor: "7"
            case .ticked: "2;9"
            case .notice: "1;33"
            case .changed: "1;32"
            }
        }
    }

    struct Line: Hashable, Sendable {
        var text: String
        var style = Style.plain
    }

    /// The lines of the screen, from top to bottom; always as many as the height.
    func lines(width: Int, height: Int) -> [Line] {
        let head = [Line(text: heading, style: .heading)]
        let foot = footLines(width, height)
        let room = max(0, height - head.count - foot.count)
        var body: [Line]
        switch page {
        case .list: body = window(listLines, room)
        case .people: body = window(sheetLines.flatMap { Self.wrapped($0, width) }, room)
        case .help, .activity, .queue:
            body = Array(
                shownPageLines.dropFirst(scroll)
                    .flatMap { Self.wrapped(Line(text: $0), width) }.prefix(room))
        }
        body += Array(repeating: Line(text: ""), count: max(0, room - body.count))
        return (head + body + foot).prefix(height).map {
            Line(text: Self.fit(ListText.oneLine($0.text), width), style: $0.style)
        }
    }

    /// The lines as text, with the terminal's codes for colours or none.
    func rows(width: Int, height: Int, hasColours: Bool) -> [String] {
        lines(width: width, height: height).map { line in
            // Without colours the cursor is a mark, and nothing is lost.
            guard hasColours, !line.style.code.isEmpty else { return line.text }
            return "\u{1B}[\(line.style.code)m\(line.text)\u{1B}[0m"
        }
    }

    private var heading: String {
        guard hasList else { return "No list is open" }
        let list = screen.list
        let mode = screen.mode == .shopping ? "shopping" : "planning"
        let title = list.title.isEmpty ? "Untitled list" : list.title
        return "\(title) (\(list.unticked.count) to buy) [\(mode)]"
    }

    private var listLines: [Line] {
        guard hasList else {
            return [
                Line(text: "No list is open; type :open or :new and a title, or q to leave.")
            ]
        }
        var lines: [Line] = screen.notices.map {
            Line(text: "+ \($0.text) (added by \($0.addedBy))", style: .notice)
        }
        for section in catalogue.sections(of: screen.rows) {
            lines.append(Line(text: section.aisle.name, style: .heading))
            lines += section.rows.map(line)
        }
        if lines.isEmpty { lines.append(Line(text: "Nothing to buy; press a to add.")) }
        return lines
    }

    private func line(of row: ListScreen.Row) -> Line {
        let isHere = row.id == cursorID
        let mark = row.isRemoved ? "-" : row.item.isTicked ? "x" : " "
        var text = "\(isHere ? ">" : " ") [\(mark)] \(row.item.text)"
        if let note = row.item.note { text += " (\(note))" }
        if let person = changedBy[row.id] { text += "  * \(person)" }
        let style: Style =
            isHere
            ? .cursor
            : changedBy[row.id] != nil
                ? .changed : row.item.isTicked || row.isRemoved ? .ticked : .plain
        return Line(text: text, style: style)
    }

    /// Lines that a message takes at most.
    private static let messageLines = 3

    private func footLines(_ width: Int, _ height: Int) -> [Line] {
        var lines: [Line] = []
        if let input {
            lines += suggestions.enumerated().map { index, name in
                Line(
                    text: (index == suggestionIndex ? "> " : "  ") + name,
                    style: index == suggestionIndex ? .cursor : .plain)
            }
            lines.append(Line(text: (typesCommand ? ":" : "Add: ") + input + "_"))
        } else {
            let said = Self.wrapped(Line(text: message.isEmpty ? keyLine : message), width)
            lines += said.prefix(max(1, min(Self.messageLines, height - 4)))
        }
        lines.append(Line(text: syncLine, style: .heading))
        return lines
    }

    private var keyLine: String {
        page == .people ? Self.sheetKeys : "a add  space tick  d remove  ? help"
    }

    /// The part of the lines that contains the cursor.
    private func window(_ lines: [Line], _ room: Int) -> [Line] {
        guard lines.count > room, room > 0 else { return Array(lines.prefix(room)) }
        let place = lines.firstIndex { $0.style == .cursor } ?? 0
        let first = min(max(0, place - room / 2), lines.count - room)
        return Array(lines[first..<first + room])
    }

    /// Splits a line into as many as its text takes, at spaces where there are any: a text that does not fit, such as a
    /// link, can still be read and copied.
    static func wrapped(_ whole: Line, _ width: Int) -> [Line] {
        guard width > 0 else { return [whole] }
        var texts: [String] = []
        var text = ""
        var columns = 0
        for character in ListText.oneLine(whole.text) {
            if columns + character.columns > width, !text.isEmpty {
                var rest = ""
                if let space = text.lastIndex(of: " "),
                    text[..<space].contains(where: { $0 != " " })
                {
                    rest = String(text[text.index(after: space)...])
                    text = String(text[..<space])
                }
                texts.append(text)
                text = rest
                columns = rest.reduce(0) { $0 + $1.columns }
                if character == " ", rest.isEmpty { continue }
            }
            text.append(character)
            columns += character.columns
        }
        return (texts + [text]).map { Line(text: $0, style: whole.style) }
    }

    /// Cuts a text to a number of columns; wide characters, such as those of Chinese, take two.
    static func fit(_ text: String, _ width: Int) -> String {
        var columns = 0
        var fitting = ""
        for character in text {
            columns += character.columns
            guard columns <= width else {
                while fitting.reduce(0, { $0 + $1.columns }) >= width, !fitting.isEmpty {
                    fitting.removeLast()
                }
                return width > 0 ? fitting + "…" : ""
            }
            fitting.append(character)
        }
        return fitting
    }

    static let help = [
        "Up, Down       choose an item", "Space, Enter   tick it, or take the mark away",
        "d, Backspace   take it off the list", "a              add; Tab chooses a suggestion",
        "c              take what is bought off the list",
        "m              planning: changes show immediately; shopping: rows stay in place",
        "t              put what others added on the list", "h              what happened",
        "p              who shares the list, with keys to share it and invite",
        "u              what waits to be sent",
        "s              send and fetch now", "o              work offline, and online again",
        ":              type any command, such as share or people; :help lists them",
        "q              leave", "", "Any key goes back to the list.",
    ]
}

extension Character {
    /// The columns that a terminal gives to a character.
    fileprivate var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        let isWide =
            scalar.properties.isEmojiPresentation
            // A selector that turns the scalar before it into an emoji.
            || unicodeScalars.dropFirst().first?.value == 0xFE0F
        if isWide { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return 1
        }
    }
}

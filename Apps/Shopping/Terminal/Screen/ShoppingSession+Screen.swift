import Foundation
import ShoppingCore

/// The open list on the whole terminal: redrawn at each key and at each change by others.
extension ShoppingSession {
    /// Shows the screen until the person leaves it.
    func run(on terminal: TerminalScreen, hasColours: Bool) async throws {
        let (_, list) = try await openedList()
        model = ScreenModel(
            screen: screen ?? ListScreen(list: list, deviceID: store.deviceID),
            catalogue: catalogue)
        self.drawing = { [weak terminal] model in
            guard let terminal else { return }
            let (width, height) = terminal.size
            terminal.draw(
                model.rows(width: width, height: height, hasColours: hasColours), width: width)
        }
        let watch = terminal.onResize { [weak self] in await self?.draw() }
        defer {
            watch.cancel()
            drawing = nil
            model = nil
        }
        await draw()
        let keys = ScreenKeys()
        var rest: [UInt8] = []
        while let read = await keys.next(after: rest) {
            rest = read.rest
            for key in read.keys {
                guard let intent = model?.press(key) else { continue }
                if intent == .quit || !isOpen { return }
                do {
                    try await fulfil(intent)
                } catch {
                    model?.message = "\(error)"
                }
            }
            guard isOpen, !isSignedOut else { return }
            await draw()
        }
    }

    /// Shows an answer: one line below the list, more on a page of their own.
    private func show(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline).map { ListText.oneLine(String($0)) }
        if lines.count > 1 {
            model?.page = .activity
            model?.pageLines = lines
        } else {
            model?.message = lines.first ?? ""
        }
    }

    private func setPageLines(_ text: String) {
        model?.pageLines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { ListText.oneLine(String($0)) }
    }

    /// Shows the share sheet as it is after a command that was given on it.
    private func showSheet(after answer: String) async throws {
        guard screen != nil else {
            // After leaving or deleting the list, there is no sheet.
            model?.page = .list
            return show(answer)
        }
        setPageLines(try await people())
        model?.message = answer.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    }

    /// Carries out what a key asked for.
    private func fulfil(_ intent: ScreenModel.Intent) async throws {
        switch intent {
        case .perform(let actions):
            let (listID, _) = try await openedList()
            try await store.perform(actions, in: listID)
            await refresh()
        case .enter(let mode): model?.message = try await enter(mode)
        case .takeNotices: model?.message = try await takeNotice("all")
        case .sync: model?.message = try await syncNow()
        case .goOnline: model?.message = try await goOnline()
        case .goOffline: model?.message = try await goOffline()
        case .open(let page):
            let text =
                switch page {
                case .activity: try await showActivity()
                case .people: try await people()
                case .queue:
                    try await status() + "\n" + showRefused() + "\nTo be sent:\n"
                        + store.pendingSentences().joined(separator: "\n")
                case .list, .help: ""
                }
            model?.page = page
            model?.sheetPlace = 0
            setPageLines(text)
        case .command(let line):
            let command = try Command(line)
            if command == .quit { isOpen = false }
            let text = try await answer(to: command)
            guard model?.page == .people else { return show(text) }
            try await showSheet(after: text)
        case .quit: break
        }
    }

    /// Shows the newest state, with a mark at what another person changed.
    func draw(changedBy: [String: String] = [:]) async {
        guard drawing != nil else { return }
        if let screen {
            model?.receive(screen, changedBy: changedBy)
        } else {
            model?.close()
        }
        model?.isOnline = isOnline
        // If the file cannot be read, the next action reports that.
        if let status = try? await store.status() {
            model?.syncLine =
                account.localOnlyReason ?? (isOnline ? status.line : "Offline (o goes online)")
        }
        if let model { drawing?(model) }
    }
}

import ShoppingCore

extension PageDevice {
    /// Performs a page's request; every page shows the result when this returns.
    package func perform(_ request: PageRequest) async -> PageAnswer {
        await answering { try await self.answer(to: request) }
    }

    /// The answer to a request, whose result every page shows when this returns.
    func answering(_ body: () async throws -> String?) async -> PageAnswer {
        forgetMarks()
        var answer: PageAnswer
        do {
            answer = PageAnswer(try await body())
        } catch {
            answer = PageAnswer(ShoppingSentence.of(error), isError: true)
        }
        await refresh()
        await publish()
        return answer
    }

    private func answer(to request: PageRequest) async throws -> String? {
        switch request.action {
        case .open(let listID):
            await open(ListID(text: listID))
            return nil
        case .close:
            closeList()
            return nil
        case .create(let title): return try await create(title)
        case .goOnline: return try await goOnline(true)
        case .goOffline: return try await goOnline(false)
        case .sync: return try await sync()
        case .retryRefused:
            try await store.retry(try await store.refusedChanges())
            return "The refused changes are sent again."
        case .giveUpRefused:
            try await store.giveUp(try await store.refusedChanges())
            return "The refused changes are dropped."
        case .join(let link): return try await join(link)
        case .ask(let link): return try await ask(link)
        default:
            let (listID, list) = try await list(of: request)
            if let actions = try await changes(request.action, of: listID, list) {
                try await store.perform(actions, in: listID)
                return Self.leftOut(by: request.action)
            }
            return try await answerFurther(to: request.action, listID, list)
        }
    }

    /// The list that the user saw, if it is still open.
    func list(of request: PageRequest) async throws -> (ListID, ShoppingList) {
        guard let openListID, let list = await store.list(openListID) else {
            throw CannotDo("No list is open; open one first.")
        }
        if let listID = request.listID, listID != openListID.description {
            throw CannotDo(
                "Another list was opened meanwhile, so nothing is changed; open the list again.")
        }
        return (openListID, list)
    }

    // MARK: Lists and items

    private func create(_ text: String) async throws -> String? {
        let title = Self.trimmed(text)
        guard !title.isEmpty else { throw CannotDo("The list has no name; type one.") }
        await open(try await store.create(title: title))
        return nil
    }

    static func trimmed(_ text: String) -> String {
        let rest = text.drop(while: \.isWhitespace)
        let trimmed = String(rest.reversed().drop(while: \.isWhitespace).reversed())
        return String(trimmed.prefix(ShoppingLimits.nameCharacters))
    }

    private func named(_ text: String) throws -> String {
        let name = Self.trimmed(text)
        guard !name.isEmpty else { throw CannotDo("The name is empty; type one.") }
        return name
    }

    private static func pasted(_ text: String) -> PastedText {
        PastedText(text.split(separator: ";").joined(separator: "\n"))
    }

    /// What was not added of a text with too many items; nil if nothing is missing.
    private static func leftOut(by action: PageAction) -> String? {
        guard case .add(let text) = action else { return nil }
        let pasted = pasted(text)
        guard pasted.leftOutCount > 0 else { return nil }
        return "\(pasted.names.count) items added. \(pasted.leftOutCount) more were left out; "
            + "paste them on their own."
    }

    /// The actions that change the list; nil for a page action that does something else.
    private func changes(
        _ action: PageAction, of listID: ListID, _ list: ShoppingList
    ) async throws -> [ShoppingAction]? {
        switch action {
        case .add(let text):
            let names = Self.pasted(text).names
            guard !names.isEmpty else {
                throw CannotDo("Nothing to buy was named; type what to buy.")
            }
            return [.add(names: names, afterItemID: list.items.last?.id)]
        case .tick(let itemID): return [.tick(itemID: itemID)]
        case .untick(let itemID): return [.untick(itemID: itemID)]
        case .remove(let itemID): return [.remove(itemID: itemID)]
        case .removePicture(let itemID): return [.removePicture(itemID: itemID)]
        case .addAgain(let itemID):
            guard let row = screen?.rows.first(where: { $0.id == itemID }), row.isRemoved else {
                throw CannotDo("This item is on the list already.")
            }
            return [
                .addAgain(
                    itemID: itemID, name: row.item.text, afterItemID: list.items.last?.id)
            ]
        case .rename(let itemID, let name):
            return [.rename(itemID: itemID, name: try named(name))]
        case .count(let itemID, let number):
            guard Quantity.range.contains(number) else {
                throw CannotDo(
                    "\(number) is not a count; type one from 1 to \(Quantity.range.upperBound).")
            }
            return [.quantity(itemID: itemID, number)]
        case .note(let itemID, let text):
            return [.note(itemID: itemID, text: Self.trimmed(text))]
        case .category(let itemID, let name):
            return [.category(itemID: itemID, name: Self.trimmed(name))]
        case .moveUp(let itemID): return try move(itemID, isUp: true, in: list)
        case .moveDown(let itemID): return try move(itemID, isUp: false, in: list)
        case .renameList(let title): return [.renameList(title: try named(title))]
        case .recolour(let colour): return [.recolour(colour: try named(colour))]
        case .clearBought: return list.clearingBought
        case .mergeDuplicates: return list.duplicates.flatMap { list.merging($0) }
        case .undo(let eventID):
            let lines = ActivityHistory(try await store.activity(of: listID)).lines
            guard let undo = lines.first(where: { $0.id == eventID })?.undo else {
                throw CannotDo("This change cannot be taken back any more.")
            }
            return [undo]
        default: return nil
        }
    }

    /// Moves an item past its neighbour in the aisle.
    private func move(
        _ itemID: String, isUp: Bool, in list: ShoppingList
    ) throws -> [ShoppingAction] {
        let sections = catalogue.sections(of: list.items)
        guard let rows = sections.first(where: { $0.rows.contains { $0.id == itemID } })?.rows,
            let place = rows.firstIndex(where: { $0.id == itemID }),
            rows.indices.contains(place + (isUp ? -1 : 1))
        else {
            throw CannotDo(
                "The item is at the \(isUp ? "top" : "bottom") of its aisle already.")
        }
        guard isUp else { return [.move(itemID: itemID, afterItemID: rows[place + 1].id)] }
        return [.move(itemID: itemID, afterItemID: place > 1 ? rows[place - 2].id : nil)]
    }

    // MARK: Reading

    /// What happened to the open list, newest first.
    package func activity(limit: Int = 100) async throws -> PageActivity {
        guard let openListID else { return PageActivity(lines: []) }
        let history = ActivityHistory(try await store.activity(of: openListID))
        return PageActivity(
            lines: history.lines.suffix(limit).reversed().map { line in
                PageActivity.Line(
                    id: line.id, sentence: line.sentence, milliseconds: line.event.milliseconds,
                    canUndo: line.undo != nil)
            })
    }

    /// When a product was bought, latest first.
    package func purchases(of product: String) async throws -> PageActivity {
        guard let openListID else { return PageActivity(lines: []) }
        let history = ActivityHistory(try await store.activity(of: openListID))
        return PageActivity(
            lines: history.purchases(of: product, catalogue: catalogue).prefix(10).map { line in
                PageActivity.Line(
                    id: line.id, sentence: line.sentence, milliseconds: line.event.milliseconds,
                    canUndo: false)
            })
    }

    /// Products for what is being typed, the best first.
    package nonisolated func suggestions(for text: String) -> [PageSuggestion] {
        Catalogue.standard.suggestions(for: String(text.prefix(ShoppingLimits.nameCharacters)))
            .prefix(5).map {
                PageSuggestion(name: $0.product.name, aisle: $0.product.aisle.name)
            }
    }
}

import StratusTesting

/// Notebooks, which users share during the world. Their steps come from a separate sequence of numbers.
extension Plan {
    static let notebookCount = 2

    /// The zone of a notebook; each has its own.
    static func zone(ofNotebook notebook: Int) -> String { "Notebook\(notebook)" }

    /// The notebook of a zone; nil for other zones.
    static func notebook(ofZone name: String) -> Int? {
        (0..<notebookCount).first { zone(ofNotebook: $0) == name }
    }

    /// Whether the zone of a notebook is shared, rather than its root with the pages below it.
    static func sharesWholeZone(_ notebook: Int) -> Bool { !notebook.isMultiple(of: 2) }

    /// Whether users share notebooks during the world: only where no zone is shared from its beginning, and only where
    /// no restore, older app, or other action of an app may take away what is promised.
    var hasNotebooks: Bool {
        userCount > 1 && !hasSharing && !hasRestores && !hasAppActions && !deletesEverything
            && newerRecords == nil && !decidesByAncestor
    }

    func notebooks(_ stepCount: Int) -> [Int: [Step]] {
        guard hasNotebooks else { return [:] }
        var numbers = SeededNumbers(seed: seed ^ 0x4E4F_5445)
        var notebooks: [Int: [Step]] = [:]
        for notebook in 0..<Self.notebookCount {
            let owner = numbers.below(devices.count)
            let others = devices.indices.filter { devices[$0] != devices[owner] }
            let other = others[numbers.below(others.count)]
            var stories = [beginning(notebook, owner, other)]
            for _ in 0..<3 + numbers.below(4) { stories.append(pageEdit(notebook, &numbers)) }
            stories.append(end(notebook, owner, other, &numbers))
            for _ in 0..<2 { stories.append(pageEdit(notebook, &numbers)) }
            let places = stories.map { _ in numbers.below(stepCount) }.sorted()
            for (place, story) in zip(places, stories) { notebooks[place, default: []] += story }
        }
        return notebooks
    }

    private func beginning(_ notebook: Int, _ owner: Int, _ other: Int) -> [Step] {
        [
            .app(.makeNotebook(device: owner, notebook: notebook)), .sync(device: owner),
            .pass(seconds: 3), .app(.shareNotebook(device: owner, notebook: notebook)),
            .pass(seconds: 30), .app(.joinNotebook(device: other, notebook: notebook)),
            .pass(seconds: 30),
        ]
    }

    private func pageEdit(_ notebook: Int, _ numbers: inout SeededNumbers) -> [Step] {
        let device = numbers.below(devices.count)
        let page = Notebooks.names[numbers.below(Notebooks.names.count)]
        let edit = Step.app(.editPage(device: device, notebook: notebook, page: page))
        switch numbers.below(3) {
        case 0: return [edit]
        case 1: return [edit, .sync(device: device)]
        default: return [edit, .sync(device: device), .pass(seconds: 3)]
        }
    }

    /// A page or a user leaves the share, or it ends, while the other device has an edit that was not sent yet.
    private func end(
        _ notebook: Int, _ owner: Int, _ other: Int, _ numbers: inout SeededNumbers
    ) -> [Step] {
        let (first, second) = (Notebooks.pages[0], Notebooks.pages[1])
        let edit = [first, second].map {
            Step.app(.editPage(device: other, notebook: notebook, page: $0))
        }
        let join = Step.app(.joinNotebook(device: other, notebook: notebook))
        switch numbers.below(6) {
        case 0 where !Self.sharesWholeZone(notebook):
            return edit + [
                .app(.movePage(device: owner, notebook: notebook, page: second)),
                .sync(device: owner),
            ]
        case 0, 1:
            return edit + [
                .app(.deletePage(device: owner, notebook: notebook, page: first)),
                .sync(device: owner),
            ]
        case 2:
            return edit + [
                .app(.stopSharing(device: owner, notebook: notebook)), .sync(device: owner),
                .pass(seconds: 3), join,
            ]
        case 3: return edit + [.app(.leaveNotebook(device: other, notebook: notebook))]
        case 4:
            return edit + [
                .app(.leaveNotebook(device: other, notebook: notebook)), .sync(device: other),
                .pass(seconds: 3), join, .pass(seconds: 30),
            ]
        default: return [join]
        }
    }
}

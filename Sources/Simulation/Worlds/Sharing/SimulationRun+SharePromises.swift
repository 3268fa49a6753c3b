import StratusClient
import StratusRecords

/// What is promised about notebooks at the end of a world: to their owners, and to the users with whom they are shared.
extension SimulationRun {
    func checkNotebooks() async throws {
        guard plan.hasNotebooks else { return }
        var views: [View] = []
        for user in 0..<plan.userCount { views.append(try await truth(user)) }
        for number in 0..<Plan.notebookCount {
            let notebook = notebooks[number]
            guard let owner = notebook.owner else { continue }
            let zone = Plan.zone(ofNotebook: number)
            let own = Self.records(in: zone, of: views[owner], .private)
            violations += Self.lostChanges(of: notebook, owner, own).map { "\(zone): \($0)" }
            let shared =
                Plan.sharesWholeZone(number) ? own : own.filter { Self.isInNotebook($0.key, own) }
            for user in 0..<plan.userCount where user != owner {
                let seen = Self.records(in: zone, of: views[user], .shared)
                violations += Self.wrongView(
                    seen, of: shared, notebook.presence(of: user)
                ).map { "\(zone): user \(user) \($0)" }
            }
        }
    }

    private static func records(
        in zone: String, of view: View, _ scope: CKDatabase.Scope
    ) -> [String: RecordSnapshot] {
        var records: [String: RecordSnapshot] = [:]
        for (id, record) in view.contents[scope] ?? [:] where id.zoneID.name == zone {
            records[id.name] = record
        }
        return records
    }

    /// Whether a record is the root of the notebook or one of its pages.
    private static func isInNotebook(_ name: String, _ own: [String: RecordSnapshot]) -> Bool {
        name == Notebooks.root || own[name]?.parentRecordName == Notebooks.root
    }

    /// What a user sees and should not, or should see and does not. The share itself is left out: each participant sees
    /// another part of it.
    private static func wrongView(
        _ seen: [String: RecordSnapshot], of shared: [String: RecordSnapshot],
        _ presence: Notebooks.Presence
    ) -> [String] {
        if seen.isEmpty, presence != .inside { return [] }
        if presence == .outside {
            return seen.keys.sorted().map { "sees \($0), which is not shared with them" }
        }
        return Notebooks.names.compactMap { name -> String? in
            switch (shared[name], seen[name]) {
            case (nil, nil): nil
            case (nil, _): "sees \(name), which is not in the share"
            case (_, nil): "has joined and does not see \(name)"
            case (let there?, let here?):
                here.hasSameContent(as: there)
                    ? nil : "sees \(name) with \(here.fields), and its owner \(there.fields)"
            }
        }
    }

    /// Changes of a notebook that its owner does not have.
    private static func lostChanges(
        of notebook: Notebooks.Notebook, _ owner: Int, _ own: [String: RecordSnapshot]
    ) -> [String] {
        var lost: [String] = []
        for name in Notebooks.names {
            if notebook.deletedPages.contains(name) {
                if own[name] != nil { lost.append("\(name) was deleted and is back") }
                continue
            }
            guard let record = own[name] else {
                lost.append("\(name) is missing, but no device deleted it")
                continue
            }
            let isPage = Notebooks.pages.contains(name) && !notebook.movedPages.contains(name)
            let parent = isPage ? Notebooks.root : nil
            if record.parentRecordName != parent {
                lost.append("\(name) has the parent \(record.parentRecordName ?? "nothing")")
            }
        }
        var last: [String: Notebooks.Edit] = [:]
        for edit in notebook.edits { last["\(edit.page).\(edit.field)"] = edit }
        for (name, edit) in last.sorted(by: { $0.key < $1.key }) {
            guard isPromised(edit, in: notebook, owner), let record = own[edit.page],
                record[edit.field] != .int64(edit.number)
            else { continue }
            lost.append("\(name) is not \(edit.number), its latest edit")
        }
        return lost
    }

    /// Whether an edit must be there at the end. What a participant edits may be lost with their access.
    private static func isPromised(
        _ edit: Notebooks.Edit, in notebook: Notebooks.Notebook, _ owner: Int
    ) -> Bool {
        if edit.user == owner { return true }
        return !notebook.isEnded && !notebook.leavers.contains(edit.user)
            && !notebook.movedPages.contains(edit.page)
    }
}

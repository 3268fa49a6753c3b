import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Copies of a data folder, restarts, writes, change tokens and change tags at random, compared with a model that
/// knows the history of each token.
///
/// A token is valid if and only if its history is a prefix of the present one; then exactly the later changes
/// follow. An invalid token gets the last intact version, which is never beyond the common prefix of the two
/// histories.
@Suite struct EpochPropertyTests {
    @Test(arguments: Seeds.forTest("EpochPropertyTests", count: 6))
    func tokensAndTagsFollowTheHistoryModel(_ seed: UInt64) async throws {
        var run = try await EpochRun(seed: seed)
        for number in 0..<160 {
            try await run.step()
            // So that there is a copy in every run.
            if number % 40 == 20 { try await run.copy(0) }
        }
        try await run.checkAll()
        // Otherwise too little was compared.
        #expect(run.counts.good > 5 && run.counts.expired > 5, "seed \(seed)")
        #expect(run.counts.taken > 0 && run.counts.conflicts > 5, "seed \(seed)")
        try await run.close()
    }
}

/// A run of ``EpochPropertyTests``.
struct EpochRun {
    private static let zones = ["Trips", "Plans"]
    /// The epochs before its own that a token names (Documentation/Decisions/0017).
    private static let ancestors = 16

    /// One version of a zone, or one request to the database.
    struct Change: Equatable {
        var number: Int64
        var name: String
        /// The uninterrupted period of writing in which it was made.
        var session: Int
    }

    /// A folder in the model.
    struct Branch {
        var folder: HistoryFolder
        var session: Int
        /// By zone name; the database's changes have no name.
        var changes: [String: [Change]] = [:]
    }

    struct IssuedToken {
        var text: String
        var zone: String
        var changes: [Change]
        /// How many of them the device has seen; nil in the middle of a newest-first fetch.
        var seen: Int?
    }

    struct IssuedTag {
        var text: String
        var zone: String
        var change: Change
    }

    private(set) var counts = (good: 0, expired: 0, taken: 0, conflicts: 0)
    private let seed: UInt64
    private var numbers: SeededNumbers
    private var branches: [Branch] = []
    private var tokens: [IssuedToken] = []
    private var tags: [IssuedTag] = []
    private var lastNumber: Int64 = 0
    private var lastSession = 0
    /// The number of epochs in which perhaps nothing was written.
    private var begun = 0
    /// The version of a database whose only requests were those that created its zones.
    private var firstVersion: Int64 = 0
    private let copies = CopyNames()

    init(seed: UInt64) async throws {
        self.seed = seed
        numbers = SeededNumbers(seed: seed)
        let folder = HistoryFolder(try copies.next(), seed: numbers.next())
        let alice = try await folder.person()
        for zone in Self.zones { try await alice.makeZone(zone) }
        firstVersion = try await folder.databaseVersion()
        branches = [Branch(folder: folder, session: 0)]
    }

    func close() async throws {
        for branch in branches { try await branch.folder.close() }
    }

    mutating func step() async throws {
        let index = Int.random(in: branches.indices, using: &numbers)
        switch Int.random(in: 0..<20, using: &numbers) {
        case 0..<6: try await write(to: index, by: branches[index].folder.person())
        case 6..<9: try await issueToken(of: index)
        case 9..<12: try await checkToken(of: index)
        case 12..<14: try await checkTag(of: index)
        case 14: try await copy(index)
        case 15: try await interrupt(index) { try await $0.close() }
        case 16: try await branches[index].folder.closeDatabase()
        case 17: try await replace(index)
        case 18: try await writeBeside(index)
        default:
            let isJump = numbers.next() % 2 == 0
            if !isJump { begun += 1 }
            try await interrupt(index) { folder in
                if isJump { folder.clock.jump() } else { try await folder.begin() }
            }
        }
    }

    // MARK: Folders

    /// Interrupts the period of writing: later changes belong to a new one.
    private mutating func interrupt(
        _ index: Int, _ body: (HistoryFolder) async throws -> Void
    ) async throws {
        try await body(branches[index].folder)
        newSession(index)
    }

    private mutating func newSession(_ index: Int) {
        lastSession += 1
        branches[index].session = lastSession
    }

    /// Copies a folder, as a backup or by mistake; both are used afterwards.
    mutating func copy(_ index: Int) async throws {
        try await interrupt(index) { try await $0.close() }
        var branch = branches[index]
        let path = try copies.next()
        try branch.folder.copy(to: path)
        branch.folder = HistoryFolder(path, seed: numbers.next())
        if branches.count == 4 {
            let gone = Int.random(in: branches.indices, using: &numbers)
            try await branches.remove(at: gone).folder.close()
        }
        branches.append(branch)
        newSession(branches.count - 1)
    }

    /// Replaces a closed database of a running service by another branch's.
    private mutating func replace(_ index: Int) async throws {
        let other = Int.random(in: branches.indices, using: &numbers)
        try await branches[other].folder.closeDatabase()
        try await branches[index].folder.closeDatabase()
        guard other != index else { return }
        try await branches[index].folder.takeDatabase(of: branches[other].folder)
        branches[index].changes = branches[other].changes
        newSession(index)
    }

    private mutating func writeBeside(_ index: Int) async throws {
        // The service starts first, so that the command runs next to it.
        _ = try await branches[index].folder.person()
        newSession(index)
        let beside = try branches[index].folder.beside()
        try await write(to: index, by: beside.person())
        try await beside.close()
        newSession(index)
    }

    // MARK: Writes

    private mutating func nextChange(_ name: String, of index: Int) -> Change {
        lastNumber += 1
        return Change(number: lastNumber, name: name, session: branches[index].session)
    }

    private mutating func write(to index: Int, by alice: Person) async throws {
        let zone = Self.zones.randomElement(using: &numbers) ?? ""
        let names = Set(
            (0..<Int.random(in: 1...3, using: &numbers)).map { _ in
                "r\(Int.random(in: 0..<6, using: &numbers))"
            }
        ).sorted()
        let changes = names.map { nextChange($0, of: index) }
        let results = try await alice.modify(
            changes.map { hut(.forceUpdate, $0.name, [beds($0.number)]) }, in: zone)
        note(changes, results, zone, of: index)
    }

    private mutating func note(
        _ changes: [Change], _ results: [RecordResult], _ zone: String, of index: Int
    ) {
        for (change, result) in zip(changes, results) {
            guard let tag = result.record?.recordChangeTag else {
                Issue.record("\(result), seed \(seed)")
                return
            }
            tags.append(IssuedTag(text: tag, zone: zone, change: change))
        }
        branches[index].changes[zone, default: []] += changes
        branches[index].changes["", default: []].append(nextChange("", of: index))
    }

    // MARK: Tokens

    private mutating func issueToken(of index: Int) async throws {
        let alice = try await branches[index].folder.person()
        let zone = Self.zones.randomElement(using: &numbers) ?? ""
        let changes = branches[index].changes[zone] ?? []
        let limit = Int.random(in: 1...6, using: &numbers)
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0:
            let text = try await alice.ask(ChangesDatabase.self, .init()).syncToken
            let all = branches[index].changes[""] ?? []
            tokens.append(IssuedToken(text: text, zone: "", changes: all, seen: all.count))
        case 1:
            let page = try await alice.page(zone, limit: limit, isReversed: true)
            tokens.append(
                IssuedToken(
                    text: page.syncToken, zone: zone, changes: changes,
                    seen: page.moreComing ? nil : changes.count))
        default:
            let page = try await alice.page(zone, limit: limit)
            // A page ends at the newest change of its last record.
            let last = page.records.last?.values["beds"]
            let place = changes.firstIndex { last == .int64($0.number) }
            tokens.append(
                IssuedToken(
                    text: page.syncToken, zone: zone, changes: changes,
                    seen: page.moreComing ? place.map { $0 + 1 } : changes.count))
        }
    }

    mutating func checkAll() async throws {
        for index in branches.indices {
            for token in tokens { try await check(token, in: index) }
            for tag in tags.suffix(30) { try await check(tag, in: index) }
        }
    }

    private mutating func checkToken(of index: Int) async throws {
        guard let token = tokens.randomElement(using: &numbers) else { return }
        try await check(token, in: index)
    }

    private mutating func check(_ token: IssuedToken, in index: Int) async throws {
        let alice = try await branches[index].folder.person()
        let present = branches[index].changes[token.zone] ?? []
        let common = zip(present, token.changes).prefix { $0.number == $1.number }.count
        do {
            if token.zone.isEmpty {
                _ = try await alice.ask(ChangesDatabase.self, .init(syncToken: token.text))
            } else {
                let found = try await Self.changes(alice, token)
                if let seen = token.seen {
                    #expect(found == Self.newest(present.dropFirst(seen)), "seed \(seed)")
                }
            }
            counts.good += 1
            #expect(common == token.changes.count, "A lost history is taken, seed \(seed).")
        } catch {
            counts.expired += 1
            let error = (error as? RequestFailure)?.error ?? error as? ServiceError
            #expect(error?.code == .changeTokenExpired)
            #expect(common < token.changes.count, "An intact history is refused, seed \(seed).")
            let intact = (error?.lastIntactVersion ?? -1) - (token.zone.isEmpty ? firstVersion : 0)
            #expect(intact <= common, "Too much is said to be intact, seed \(seed).")
            let sessions = Set(token.changes.dropFirst(common).map(\.session))
            let epochs = sessions.count + (token.zone.isEmpty ? begun : 0)
            if epochs <= Self.ancestors { #expect(intact == common, "seed \(seed)") }
        }
    }

    /// Fetches from a token to the end.
    private static func changes(_ alice: Person, _ token: IssuedToken) async throws -> [Int64] {
        var found: [Int64] = []
        var text = token.text
        while true {
            let page = try await alice.page(token.zone, since: text, limit: 2)
            for result in page.records {
                if case .int64(let number) = result.values["beds"] { found.append(number) }
            }
            text = page.syncToken
            if !page.moreComing { return found }
        }
    }

    /// The newest change of each record.
    private static func newest(_ changes: ArraySlice<Change>) -> [Int64] {
        var names: Set<String> = []
        return changes.reversed().filter { names.insert($0.name).inserted }.reversed()
            .map(\.number)
    }

    // MARK: Tags

    private mutating func checkTag(of index: Int) async throws {
        guard let tag = tags.suffix(40).randomElement(using: &numbers) else { return }
        try await check(tag, in: index)
    }

    private mutating func check(_ tag: IssuedTag, in index: Int) async throws {
        let alice = try await branches[index].folder.person()
        let present = branches[index].changes[tag.zone]?.last { $0.name == tag.change.name }
        let change = nextChange(tag.change.name, of: index)
        let results = try await alice.modify(
            [hut(.update, change.name, [beds(change.number)], tag: tag.text)], in: tag.zone,
            isAtomic: false)
        if present?.number == tag.change.number {
            counts.taken += 1
            note([change], results, tag.zone, of: index)
            return
        }
        counts.conflicts += 1
        let failure = results.first?.failed
        #expect(failure != nil, "A tag of another state is taken, seed \(seed).")
        if present != nil { #expect(failure?.error.code == .conflict) }
        // The ancestor may have been removed, but is never another state.
        if let ancestor = failure?.ancestorRecord {
            #expect(RecordResult.record(ancestor).values["beds"] == .int64(tag.change.number))
        }
    }
}

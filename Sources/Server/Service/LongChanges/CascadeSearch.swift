import StratusRecords
import StratusStorage
import StratusWire

/// Finds the records that are deleted together with a request's deletions, when they are more than one transaction may
/// look for.
///
/// Each step is a transaction of its own, so that others read and write between them. When the request ends without a
/// decision, or the process ends, its records stay (``LongChanges``).
struct CascadeSearch: Sendable {
    /// The result of one step.
    private struct Step: Sendable {
        var found: [RecordKey] = []
        var seen: Set<RecordKey> = []
        var claimed: [RecordKey] = []
        var asked = 0
        var answers = Dependents.Answers()
        var isTooLarge = false
    }

    private(set) var claim: CascadeClaim
    private let context: RequestContext
    /// The number of the request's operations.
    private let operations: Int
    private var claimed: Set<RecordKey> = []
    private var answers = Dependents.Answers()
    private var question: CascadeQuestion
    /// The records to delete, in the order in which they were found, and for how many of them the dependents were read.
    private var members: [RecordKey]
    private var seen: Set<RecordKey>
    private var asked = 0
    private var isTooLarge = false

    init(
        _ question: CascadeQuestion, operations: Int, in context: RequestContext,
        _ deletion: LongDeletion
    ) {
        claim = CascadeClaim(deletion)
        self.context = context
        self.operations = operations
        self.question = question
        members = question.roots
        seen = Set(question.roots)
    }

    /// Finds the answer to a question, and holds the records that it names.
    mutating func find(_ question: CascadeQuestion, in store: any RecordStore) async throws {
        begin(question)
        while try await step(in: store) {}
        try await answer(in: store)
    }

    private mutating func begin(_ question: CascadeQuestion) {
        self.question = question
        members = question.roots
        seen = Set(question.roots)
        asked = 0
        isTooLarge = false
    }

    // MARK: Steps

    /// Reads the dependents of some of the records, and claims those that are deleted with them.
    ///
    /// - Returns: Whether there are more records to look at.
    /// - Throws: ``ServiceError`` when another request deletes one of them, or its zone is gone.
    mutating func step(in store: any RecordStore) async throws -> Bool {
        let step = try await store.write { [self] writer in try self.step(writer) }
        members += step.found
        seen.formUnion(step.found)
        claimed.formUnion(step.claimed)
        asked += step.asked
        answers.merge(step.answers)
        isTooLarge = step.isTooLarge
        // Read from indexes alone: the three questions are about as many entries.
        context.work.add(entriesRead: 3 * step.asked)
        // Each is written now, and removed when the request is decided.
        context.work.add(entriesWritten: 2 * step.claimed.count)
        return asked < members.count && !isTooLarge
    }

    private func step(_ writer: any StoreWriter) throws -> Step {
        let limit = context.limits.recordsPerLongCascade
        var dependents = try dependents(writer)
        dependents.setSaves(question.saves)
        var step = Step()
        if asked == 0 {
            for zone in Set(question.roots.compactMap(dependents.zone)) {
                try writer.put(LongChangeRow(zone: zone, kind: .claim, name: claim.text))
            }
            for root in question.roots { try hold(root, &step, dependents, writer) }
        }
        var room = context.limits.recordsPerStep
        while room > 0, !step.isTooLarge {
            let next = asked + step.asked
            guard next < members.count + step.found.count else { break }
            let target = next < members.count ? members[next] : step.found[next - members.count]
            step.asked += 1
            room -= 1
            let most = limit + operations + question.roots.count + 2
            _ = try dependents.of(target, .child, limit: most)
            _ = try dependents.of(target, .validate, limit: most)
            for holder in try dependents.going(with: target, limit: most)
            where !seen.contains(holder) && step.seen.insert(holder).inserted {
                step.found.append(holder)
                room -= 1
                try hold(holder, &step, dependents, writer)
            }
            step.isTooLarge = members.count + step.found.count > limit + question.roots.count
        }
        step.answers = dependents.known
        return step
    }

    /// Stores the deletion of a record, which takes effect when the claim no longer holds it back.
    private func hold(
        _ key: RecordKey, _ step: inout Step, _ dependents: Dependents, _ writer: any StoreWriter
    ) throws {
        guard !claimed.contains(key), let zone = dependents.zone(of: key) else { return }
        if let other = try writer.longChangeDetail(.deletion, of: key.name, in: zone),
            other != claim.text
        {
            throw ServiceError.deletionUnderWay
        }
        try writer.put(
            LongChangeRow(zone: zone, kind: .deletion, name: key.name, detail: claim.text))
        step.claimed.append(key)
    }

    private func dependents(
        _ reader: any StoreReader, questions: Int = .max
    ) throws -> Dependents {
        try Dependents(
            reader: reader, zoneNames: Set(question.access.keys), in: context, claim: claim.text,
            given: answers, questions: questions)
    }

    // MARK: The answer

    /// Decides, outside the writer, which records are deleted and which cannot be.
    private mutating func answer(in store: any RecordStore) async throws {
        let answer = try await store.read(.zone) { [self] reader in try self.answer(reader) }
        if !answer.hasRefused { try await letGo(allBut: answer.cascade, in: store) }
        claim.add(answer, to: question)
    }

    private func answer(_ reader: any StoreReader) throws -> CascadeAnswer {
        let limit = context.limits.recordsPerLongCascade
        var dependents = try dependents(reader, questions: 8 * (limit + 4 * operations))
        dependents.setSaves(question.saves)
        do {
            var answer = CascadeAnswer(
                cascade: try Cascade(deleting: question.roots, &dependents, limit: limit))
            answer.refused = try answer.cascade.dropHeld(&dependents, operations: operations)
            return answer
        } catch is Dependents.TooManyQuestions {
            // The request is refused: its records have too many dependents.
            return CascadeAnswer(cascade: Cascade(), isOverLimit: true)
        }
    }

    /// Releases the records that an earlier answer deletes and this one does not.
    private mutating func letGo(
        allBut cascade: Cascade, in store: any RecordStore
    ) async throws {
        let others = claimed.filter { !cascade.contains($0) }
        guard !others.isEmpty else { return }
        claimed.subtract(others)
        // Earlier answers about them may no longer be true.
        answers = Dependents.Answers()
        var rest = Array(others)
        while !rest.isEmpty {
            let part = Array(rest.suffix(context.limits.recordsPerStep))
            rest.removeLast(part.count)
            try await store.write { [self] writer in
                let dependents = try dependents(writer)
                for key in part {
                    guard let zone = dependents.zone(of: key) else { continue }
                    try writer.delete(LongChangeRow(zone: zone, kind: .deletion, name: key.name))
                }
            }
        }
    }
}

extension ModifyTransaction {
    /// Questions that a request may ask before it fails with a request to try again: others keep changing the answers.
    private static let searches = 40

    /// Runs the request; when its deletions take many records along, finds these in steps first.
    func run(
        on store: any RecordStore, _ longChanges: LongChanges
    ) async throws -> ModifyOutcome {
        var search: CascadeSearch?
        defer { if let search { longChanges.release(search.claim.text, in: store) } }
        for _ in 0..<Self.searches {
            do {
                let claim = search?.claim
                return try await longChanges.records.write(
                    to: store, by: context.user(), on: context.caller.device,
                    charging: context.work
                ) { try run(in: &$0, claim: claim) }
            } catch let unknown as UnknownCascade {
                var next = search ?? newSearch(unknown.question)
                longChanges.hold(next.claim.text)
                search = next
                try await next.find(unknown.question, in: store)
                search = next
            }
        }
        throw ServiceError.deletionUnderWay
    }

    private func newSearch(_ question: CascadeQuestion) -> CascadeSearch {
        CascadeSearch(
            question, operations: plan.items.count, in: context,
            LongDeletion(
                user: context.caller.userRecordName ?? "", device: context.caller.device,
                milliseconds: nowMilliseconds, number: world.randomNumber()))
    }
}

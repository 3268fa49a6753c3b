import StratusRecords
import StratusStorage

/// Decides all operations of a request together.
///
/// The conditions that hold after ``decideTogether(isAtomic:reader:)``, and the refusals that ensure them:
///
/// - A record that is deleted, named or by cascade, leaves no child and no VALIDATE reference to it; otherwise the
///   deletions that lead to it are refused.
/// - A record that refers to a deleted one with DELETE_SELF is deleted with it, to any depth. That includes a record
///   that the request saves with such a reference: it is saved, then deleted.
/// - A new parent, the target of a VALIDATE reference that was sent, and the target of a new DELETE_SELF reference
///   exists or is saved too; otherwise the save is refused. When a save needs a record that the request deletes, the
///   deletion is refused.
/// - No record has more DELETE_SELF references to it than the limit; otherwise the saves that add some are refused.
/// - In an atomic zone one refusal refuses the others too.
extension ModifyDecisions {
    /// Applies the rules by which operations depend on each other, until nothing changes. A refused operation stays
    /// refused: every round refuses at least one, or is the last.
    mutating func decideTogether(isAtomic: Bool, reader: any StoreReader) throws {
        guard plan.items.contains(where: { if case .ready = $0 { true } else { false } }) else {
            return
        }
        // Enough for the largest cascade of one transaction, and a few rounds of what usual requests need.
        let questions = 8 * (context.limits.recordsPerCascade + 4 * plan.items.count)
        var dependents = Dependents(
            reader: reader, stored: stored, claim: claim?.text, questions: questions)
        do {
            for _ in 0..<Self.rounds {
                if try decideRound(isAtomic: isAtomic, &dependents) { return }
            }
        } catch is Dependents.TooManyQuestions {
            // Refused below, like a request that needs too many rounds.
        }
        cascade = Cascade()
        for item in plan.items {
            if case .ready(let operation) = item { fail(operation.key, .tooManyDependents) }
        }
    }

    /// Rounds after which a request is refused in which every refusal causes another one.
    private static let rounds = 32

    /// - Returns: whether all remaining operations can be done together.
    private mutating func decideRound(
        isAtomic: Bool, _ dependents: inout Dependents
    ) throws -> Bool {
        // First the saves that fail regardless of the deletions: no record stays because of them.
        cascade = Cascade()
        refuseDanglingSaves()
        if isAtomic { failOthers() }
        try decideDeletions(&dependents)
        if try refuseSourcesOverLimit(&dependents) { return false }
        return !(isAtomic && failOthers())
    }

    // MARK: Deletions

    private mutating func decideDeletions(_ dependents: inout Dependents) throws {
        while true {
            let roots = deletions()
            guard !roots.isEmpty else {
                cascade = Cascade()
                return
            }
            let answer = try cascade(deleting: roots, &dependents)
            for key in answer.cascade.tooLarge { fail(key, .cascadeTooLarge) }
            for key in answer.refused { fail(key, .stillReferred) }
            guard answer.hasRefused else {
                cascade = answer.cascade
                return
            }
        }
    }

    /// The records that the deletions remove, found here if they fit in one transaction.
    ///
    /// - Throws: ``UnknownCascade`` if they do not, and were not found in steps before (``CascadeSearch``).
    private func cascade(
        deleting roots: [RecordKey], _ dependents: inout Dependents
    ) throws -> CascadeAnswer {
        let question = CascadeQuestion(
            roots: roots, saves: saves(), access: stored.rights.mapValues(\.access))
        if let known = claim?.answers[question] {
            if known.isOverLimit { throw Dependents.TooManyQuestions() }
            return known
        }
        dependents.setSaves(question.saves)
        let limit = min(
            context.limits.recordsPerCascade, context.limits.recordsPerLongCascade)
        var answer = CascadeAnswer(
            cascade: try Cascade(deleting: roots, &dependents, limit: limit))
        if !answer.cascade.tooLarge.isEmpty, limit < context.limits.recordsPerLongCascade {
            throw UnknownCascade(question: question)
        }
        answer.refused = try answer.cascade.dropHeld(&dependents, operations: decisions.count)
        return answer
    }

    private func deletions() -> [RecordKey] {
        zip(plan.items, decisions).compactMap { item, decision -> RecordKey? in
            guard case .ready(let operation) = item, case .delete = decision else { return nil }
            return operation.key
        }
    }

    /// The records that the request saves, and those that they will depend on.
    private func saves() -> [Dependents.Save] {
        decisions.indices.compactMap { index in
            guard case .ready(let operation) = plan.items[index],
                case .save(let row, _, _) = decisions[index]
            else { return nil }
            return Dependents.Save(
                key: operation.key, parent: row.parent, references: references[index])
        }
    }

    // MARK: Saves

    /// Refuses saves whose parent or target neither exists nor is saved. A record that is named to be deleted counts as
    /// existing: a save that needs it keeps it, unless the saved record is itself deleted.
    private mutating func refuseDanglingSaves() {
        var refused: [RecordKey] = []
        for index in decisions.indices {
            guard case .ready(let operation) = plan.items[index], !operation.required.isEmpty,
                case .save = decisions[index], !operation.required.allSatisfy(mayExist)
            else { continue }
            let isUndecided = operation.required.contains(where: stored.isUndecided)
            fail(
                operation.key,
                isUndecided
                    ? .deletionUnderWay
                    : operation.share == nil ? .referenceViolation : .shareWithoutRoot)
            refused.append(operation.key)
        }
        // Then refuses the saves that need a refused record which is not stored yet.
        while let key = refused.popLast() {
            guard stored.living(key) == nil else { continue }
            for index in requirers[key] ?? [] {
                guard case .ready(let operation) = plan.items[index], case .save = decisions[index]
                else { continue }
                fail(
                    operation.key,
                    operation.share == nil ? .referenceViolation : .shareWithoutRoot)
                refused.append(operation.key)
            }
        }
    }

    private func mayExist(_ key: RecordKey) -> Bool {
        if let index = indexByKey[key], case .save = decisions[index] { return true }
        return stored.living(key) != nil
    }

    /// Refuses the last of the saves that give a record more DELETE_SELF references than it may have.
    private mutating func refuseSourcesOverLimit(_ dependents: inout Dependents) throws -> Bool {
        let saves = saves()
        guard saves.contains(where: { $0.isSource }) else { return false }
        dependents.setSaves(saves)
        var refused: [RecordKey] = []
        for (target, holders) in dependents.savedSources {
            let limit = context.limits.sourcesPerTarget
            let all = try dependents.of(target, .deleteSelf, limit: limit + decisions.count + 1)
            var excess = all.count { !cascade.contains($0) } - limit
            for holder in holders.reversed() where excess > 0 && !cascade.contains(holder) {
                guard !isSource(holder, of: target) else { continue }
                refused.append(holder)
                excess -= 1
            }
        }
        for key in refused {
            fail(key, .tooManySources(limit: context.limits.sourcesPerTarget))
        }
        return !refused.isEmpty
    }

    /// Whether a stored record refers to a target with DELETE_SELF.
    private func isSource(_ holder: RecordKey, of target: RecordKey) -> Bool {
        guard let old = stored.living(holder) else { return false }
        let reference = ActingReference(target: target.name, action: .deleteSelf)
        // A stored record that cannot be read counts as having none. Its reference is then a new one: beyond the limit
        // the save is refused, and the caller learns of it.
        return (try? ActingReference.all(in: old.payload).contains(reference)) ?? false
    }

    // MARK: Room

    /// Fails the operations for which there is no room, in the order of the request; bytes that the same request frees
    /// count first.
    ///
    /// - Returns: Whether something failed.
    mutating func apply(_ quota: Quota) -> Bool {
        var quota = quota
        let growths = plan.items.indices.map { ($0, growthBytes(of: $0)) }
        for (_, bytes) in growths where bytes < 0 { _ = quota.takeRecordBytes(bytes) }
        var hasFailed = false
        for (index, bytes) in growths where bytes > 0 && !quota.takeRecordBytes(bytes) {
            fail(index, quota.error)
            hasFailed = true
        }
        return hasFailed
    }

    // MARK: Refusing

    mutating func fail(_ key: RecordKey, _ error: ServiceError) {
        guard let index = indexByKey[key] else { return }
        if case .failed = decisions[index] { return }
        decisions[index] = .failed(failure(key, error))
    }

    /// Fails the other operations of a request in a custom zone in which something failed.
    @discardableResult
    private mutating func failOthers() -> Bool {
        var failing: Set<String> = []
        for (index, item) in plan.items.enumerated() {
            if case .failed = decisions[index], let zoneName = item.zoneName, isAtomicZone(zoneName)
            {
                failing.insert(zoneName)
            }
        }
        var hasChanged = false
        for (index, item) in plan.items.enumerated() {
            guard case .ready(let operation) = item, failing.contains(operation.key.zoneName)
            else { continue }
            if case .failed = decisions[index] { continue }
            decisions[index] = .failed(failure(operation.key, .atomicFailure))
            hasChanged = true
        }
        return hasChanged
    }

    private func isAtomicZone(_ name: String) -> Bool {
        name != ZoneID.defaultZoneName && stored.zones[name] != nil
    }

    /// Whether the request is about one atomic zone, in which something failed.
    func failsAsWhole(isAtomic: Bool) -> Bool {
        let zoneNames = Set(plan.items.map(\.zoneName))
        guard isAtomic, zoneNames.count == 1, case let zoneName?? = zoneNames.first,
            isAtomicZone(zoneName)
        else { return false }
        return decisions.contains { if case .failed = $0 { true } else { false } }
    }
}

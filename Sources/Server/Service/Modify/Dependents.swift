import StratusRecords
import StratusStorage

/// The records that depend on a record after a request's saves: as stored, except for the records that the request
/// saves, which depend on what they are saved with.
struct Dependents {
    enum Dependency: Hashable {
        case child
        case deleteSelf
        case validate
    }

    /// A record that the request saves.
    struct Save: Hashable {
        var key: RecordKey
        var parent: String?
        var references: Set<ActingReference>

        /// Whether it is deleted together with another record.
        var isSource: Bool { references.contains { $0.action == .deleteSelf } }
    }

    struct Question: Hashable {
        var target: RecordKey
        var dependency: Dependency
    }

    /// The stored answers, each read once, since a chain may need many rounds.
    struct Answers {
        fileprivate(set) var names: [Question: (names: [String], limit: Int)] = [:]
        /// The shares of roots, and the zones in which nothing is shared.
        fileprivate(set) var shares: [RecordKey: RecordKey?] = [:]
        fileprivate(set) var hasShares: [String: Bool] = [:]

        mutating func merge(_ others: Answers) {
            names.merge(others.names) { $1 }
            shares.merge(others.shares) { $1 }
            hasShares.merge(others.hasShares) { $1 }
        }
    }

    private let reader: any StoreReader
    private let zones: [String: ZoneRow]
    private let rights: [String: ZoneRights]
    private let underWay: [String: Set<LongChangeRow.Kind>]
    /// The request's own claim: the records that it holds are deleted with this request.
    private let claim: String?
    /// Answers from earlier steps, about records that no other request can change in the meantime.
    private let given: Answers
    /// The answers read here.
    private(set) var known = Answers()
    private var saved: Set<RecordKey> = []
    /// Questions that may still be asked: a request whose operations all depend on one another must not block the
    /// database for long.
    private var questions: Int
    private var saving: [Question: [RecordKey]] = [:]

    /// Too many questions were asked.
    struct TooManyQuestions: Error {}

    init(
        reader: any StoreReader, stored: StoredRecords, claim: String?, questions: Int
    ) {
        self.reader = reader
        zones = stored.zones
        rights = stored.rights
        underWay = stored.underWay
        self.claim = claim
        self.questions = questions
        given = Answers()
    }

    /// For a request that searches in steps for what its deletions remove.
    ///
    /// - Throws: ``ServiceError`` when one of the zones no longer exists.
    init(
        reader: any StoreReader, zoneNames: Set<String>, in context: RequestContext, claim: String,
        given: Answers, questions: Int = .max
    ) throws {
        self.reader = reader
        var zones: [String: ZoneRow] = [:]
        var rights: [String: ZoneRights] = [:]
        var underWay: [String: Set<LongChangeRow.Kind>] = [:]
        for name in zoneNames {
            let zone = try context.existingZone(named: name, reader)
            zones[name] = zone.row
            rights[name] = zone.rights
            underWay[name] = try reader.longChanges(in: zone.row.key)
        }
        self.zones = zones
        self.rights = rights
        self.underWay = underWay
        self.claim = claim
        self.given = given
        self.questions = questions
    }

    /// The key of the record's zone, if that is one of the request's.
    func zone(of key: RecordKey) -> ZoneRow.Key? { zones[key.zoneName]?.key }

    /// Sets what the request saves, as far as it is decided.
    mutating func setSaves(_ saves: [Save]) {
        saved = Set(saves.lazy.map(\.key))
        saving = [:]
        for save in saves {
            func add(_ target: String, _ dependency: Dependency) {
                let key = RecordKey(zoneName: save.key.zoneName, name: target)
                saving[Question(target: key, dependency: dependency), default: []].append(save.key)
            }
            if let parent = save.parent { add(parent, .child) }
            for reference in save.references {
                add(reference.target, reference.action == .validate ? .validate : .deleteSelf)
            }
        }
    }

    /// The saves that refer to each target with DELETE_SELF, in the request's order.
    var savedSources: [(target: RecordKey, holders: [RecordKey])] {
        saving.compactMap { question, holders in
            question.dependency == .deleteSelf ? (question.target, holders) : nil
        }
        // Sorted, so that the refusals are the same every time if a record refers to several targets.
        .sorted { $0.target.name < $1.target.name }
    }

    /// - Parameter limit: how many stored records to read; those of the request are all returned.
    /// - Throws: ``TooManyQuestions``, and what the store throws.
    mutating func of(_ target: RecordKey, _ dependency: Dependency, limit: Int) throws
        -> [RecordKey]
    {
        questions -= 1
        guard questions >= 0 else { throw TooManyQuestions() }
        let question = Question(target: target, dependency: dependency)
        // The saved records are answered from the request: they do not count towards the limit.
        let names = try stored(question, limit: limit + saved.count)
        let added = saving[question] ?? []
        if names.isEmpty { return added }
        return names.map { RecordKey(zoneName: target.zoneName, name: $0) }
            .filter { !saved.contains($0) } + added
    }

    /// The records that are deleted together with a record: those that refer to it with DELETE_SELF, and its share if
    /// it is a root.
    mutating func going(with target: RecordKey, limit: Int) throws -> [RecordKey] {
        let holders = try of(target, .deleteSelf, limit: limit)
        guard let share = try share(ofRoot: target), !holders.contains(share) else {
            return holders
        }
        return holders + [share]
    }

    private mutating func share(ofRoot key: RecordKey) throws -> RecordKey? {
        guard let zone = zones[key.zoneName], try isAnythingShared(in: zone) else { return nil }
        if let known = known.shares[key] ?? given.shares[key] { return known }
        var share: RecordKey?
        if let row = try reader.records(named: [key.name], in: zone.key)[key.name], !row.isDeleted,
            row.shareRoot == row.name, let name = try RecordSharing(row).shareName
        {
            share = RecordKey(zoneName: key.zoneName, name: name)
        }
        known.shares[key] = .some(share)
        return share
    }

    private mutating func isAnythingShared(in zone: ZoneRow) throws -> Bool {
        guard zone.hasFeed else { return false }
        if let known = known.hasShares[zone.name] { return known }
        let isShared = try reader.hasShares(in: zone.key)
        known.hasShares[zone.name] = isShared
        return isShared
    }

    private mutating func stored(_ question: Question, limit: Int) throws -> [String] {
        if let known = known.names[question] ?? given.names[question],
            known.names.count < known.limit || limit <= known.limit
        {
            return known.names
        }
        guard let zone = zones[question.target.zoneName]?.key else { return [] }
        let name = question.target.name
        let names =
            switch question.dependency {
            case .child: try reader.children(of: name, in: zone, limit: limit)
            case .deleteSelf:
                try writable(
                    reader.holders(of: name, .deleteSelf, in: zone, limit: limit), in: zone,
                    rights[question.target.zoneName] ?? .own)
            case .validate: try reader.holders(of: name, .validate, in: zone, limit: limit)
            }
        if underWay[question.target.zoneName]?.contains(.deletion) == true {
            // Records that are deleted already do not count; how many remain is known when those are gone.
            for name in names {
                if let other = try reader.longChangeDetail(.deletion, of: name, in: zone),
                    other != claim
                {
                    throw ServiceError.deletionUnderWay
                }
            }
        }
        known.names[question] = (names, limit)
        return names
    }

    /// Leaves out records that a participant may not delete: they stay, and lose the reference.
    private func writable(
        _ names: [String], in zone: ZoneRow.Key, _ rights: ZoneRights
    ) throws -> [String] {
        if rights.isOwn || names.isEmpty { return names }
        let rows = try reader.records(named: names, in: zone)
        return names.filter { name in
            rows[name].map { $0.shareRoot != name && rights.canWrite($0) } ?? false
        }
    }
}

import StratusClient
import StratusRecords

/// What users did in a simulated world, and therefore what must exist at its end.
struct Ledger {
    /// A user's record, regardless of where it is seen from.
    struct Key: Hashable, Comparable, CustomStringConvertible {
        var owner: Int
        var zone: Int
        var record: Int

        var description: String { "user \(owner)'s \(Plan.zones[zone])/r\(record)" }

        static func < (left: Key, right: Key) -> Bool {
            (left.owner, left.zone, left.record) < (right.owner, right.zone, right.record)
        }
    }

    struct Edit {
        var number: Int64
        /// When it was made, by the clock that decides: the time that is sent with the record.
        var stamp: Int64
        /// The database in whose file the clock was not corrected yet; nil if it was.
        var ownClock: CKDatabase.Scope?
        /// False if it may be lost without notice, because its zone was left meanwhile.
        var isPromised = true
        var user: Int
        var device: String
    }

    /// A record from its creation to its deletion.
    struct Life {
        var number: Int64
        /// The user who deleted it.
        var deleter: Int?
        /// Edits by field.
        var edits: [Int: [Edit]] = [:]
        var isPromised = true
    }

    /// The number of an edit that removes the field's value.
    static let nothing: Int64 = 0

    private(set) var lives: [Key: [Life]] = [:]
    /// Zones about which nothing is promised: they were deleted, or the service lost its history.
    var brokenZones: Set<[Int]> = []
    /// Users who left a share once: their changes there may be lost with it.
    private var leavers: Set<Int> = []
    /// Whether the latest edit of a field wins; otherwise the last one of any device may.
    var isDecidedByTime = true
    /// Whether the service has forgotten deletions since a restore: a record that a device has and the restore lost may
    /// then have been deleted or only lost, which cannot be distinguished.
    var areDeletionsForgotten = false
    /// Whether a record may have fields of an earlier one of its name: a restore hides from its creator that there was
    /// one, and an app's own resolver or an older app decides for itself.
    var mayMixRecords = false
    private var lastNumber: Int64 = 0

    mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    mutating func made(_ key: Key, _ number: Int64) {
        lives[key, default: []].append(Life(number: number))
    }

    mutating func edited(_ key: Key, life: Int64, field: Int, _ edit: Edit) {
        var edit = edit
        if edit.user != key.owner, leavers.contains(edit.user) { edit.isPromised = false }
        change(key, life) { $0.edits[field, default: []].append(edit) }
    }

    mutating func deleted(_ key: Key, life: Int64, by user: Int) {
        let isPromised = user == key.owner || !leavers.contains(user)
        change(key, life) { life in
            if isPromised { life.deleter = user } else { life.isPromised = false }
        }
    }

    /// Withdraws the promise for what may have been deleted when deletions are forgotten: the app was notified, and has
    /// it.
    mutating func givenUp(_ key: Key, life: Int64) {
        change(key, life) { $0.isPromised = false }
    }

    /// Withdraws the promises for what an older app dropped for a newer one's record and was notified of, and for the
    /// removal of what it had deleted and created again.
    mutating func overruled(
        _ key: Key, life: Int64, fields: [Int], on device: String, by kept: Int64
    ) {
        change(key, life) { life in
            if life.number != kept { life.isPromised = false }
            for field in fields {
                life.edits[field] = life.edits[field]?.map { edit in
                    var edit = edit
                    if edit.device == device { edit.isPromised = false }
                    return edit
                }
            }
        }
        guard life != kept else { return }
        change(key, kept) { life in
            life.deleter = nil
            life.isPromised = false
            for field in life.edits.keys {
                life.edits[field] = life.edits[field]?.map { edit in
                    var edit = edit
                    if edit.device == device { edit.isPromised = false }
                    return edit
                }
            }
        }
    }

    /// Withdraws the promises for a user's changes of a record on a device: the app discarded refused ones.
    mutating func withdrawn(_ key: Key, by user: Int, on device: String) {
        lives[key] = lives[key]?.map { life in
            var life = life
            if life.deleter == user { life.deleter = nil }
            life.isPromised = false
            life.edits = life.edits.mapValues { edits in
                edits.map { edit in
                    var edit = edit
                    if edit.user == user, edit.device == device { edit.isPromised = false }
                    return edit
                }
            }
            return life
        }
    }

    /// Withdraws the promises for a user's changes of another user's zone, earlier and later ones: the user left it.
    mutating func left(owner: Int, by user: Int) {
        leavers.insert(user)
        for key in lives.keys.sorted() where key.owner == owner {
            var changed = lives[key] ?? []
            for place in changed.indices {
                if changed[place].deleter == user {
                    changed[place].deleter = nil
                    changed[place].isPromised = false
                }
                for (field, edits) in changed[place].edits {
                    changed[place].edits[field] = edits.map { edit in
                        var edit = edit
                        if edit.user == user { edit.isPromised = false }
                        return edit
                    }
                }
            }
            lives[key] = changed
        }
    }

    /// Moves the times of edits that a device made by its own clock, as the device does with its first correction.
    ///
    /// - Parameter offset: the correction for a device, a user and a database, in milliseconds.
    mutating func correctClocks(
        _ offset: (_ device: String, _ user: Int, _ scope: CKDatabase.Scope) throws -> Int64
    ) rethrows {
        for key in lives.keys.sorted() {
            var changed = lives[key] ?? []
            for place in changed.indices {
                changed[place].edits = try changed[place].edits.mapValues { edits in
                    try edits.map { edit in
                        guard let scope = edit.ownClock else { return edit }
                        var edit = edit
                        edit.stamp += try offset(edit.device, edit.user, scope)
                        edit.ownClock = nil
                        return edit
                    }
                }
            }
            lives[key] = changed
        }
    }

    private mutating func change(_ key: Key, _ number: Int64, _ body: (inout Life) -> Void) {
        guard let place = lives[key]?.firstIndex(where: { $0.number == number }) else { return }
        var changed = lives[key] ?? []
        body(&changed[place])
        lives[key] = changed
    }

    /// The edits of a field of a record, in all of its lives.
    func edits(of key: Key, field: Int) -> [Edit] {
        (lives[key] ?? []).flatMap { $0.edits[field] ?? [] }
    }

    // MARK: The end

    /// A record that the service has at the end.
    struct Found {
        var life: Int64
        var fields: [Int: Int64] = [:]
        /// Whether a device could tell which photo it has.
        var isPhotoKnown = false
    }

    /// The broken promises in the records that the service has at the end.
    ///
    /// - Parameter found: each record's life, and the number of the edit in each field.
    func violations(found: [Key: Found]) -> [String] {
        var violations: [String] = []
        for key in Set(lives.keys).union(found.keys).sorted()
        where !brokenZones.contains([key.owner, key.zone]) {
            let lives = lives[key] ?? []
            guard let record = found[key] else {
                if let last = lives.last, last.deleter == nil, last.isPromised {
                    violations.append(
                        "\(key) is missing, but nothing deleted what edit \(last.number) made")
                }
                continue
            }
            guard let life = lives.first(where: { $0.number == record.life }) else {
                violations.append("\(key) has a life that was never created: \(record.life)")
                continue
            }
            if life.deleter != nil, areDeletionsForgotten { continue }
            if life.deleter != nil {
                violations.append("\(key), made by edit \(life.number), was deleted and is back")
                continue
            }
            violations += foreignFields(key, life, record)
            for (field, edits) in life.edits.sorted(by: { $0.key < $1.key })
            where field != Plan.photoField || record.isPhotoKnown {
                let violation = violation(key, field, edits, found: record.fields[field])
                if let violation { violations.append(violation) }
            }
        }
        return violations
    }

    /// The fields that no edit of a record has set: their values are those of an earlier record of its name.
    private func foreignFields(_ key: Key, _ life: Life, _ record: Found) -> [String] {
        guard !mayMixRecords, life.isPromised else { return [] }
        return Plan.fields.indices.compactMap { field in
            guard let number = record.fields[field], life.edits[field] == nil else { return nil }
            return "\(key).\(Plan.name(ofField: field)) has \(number), which was not set since edit"
                + " \(life.number) made the record"
        }
    }

    private func violation(
        _ key: Key, _ field: Int, _ edits: [Edit], found: Int64?
    ) -> String? {
        let promised = edits.filter(\.isPromised).map(\.stamp).max() ?? .min
        var allowed = edits.filter { $0.stamp >= promised }
        if !isDecidedByTime {
            // Each user's cache on a device has a last edit of its own.
            let last = Dictionary(
                edits.filter(\.isPromised).map { ([$0.device, "\($0.user)"], $0.number) }
            ) { $1 }
            allowed = edits.filter {
                !$0.isPromised || last[[$0.device, "\($0.user)"]] == $0.number
            }
        }
        if promised == .min, found == nil { return nil }
        if allowed.contains(where: { $0.number == found ?? Self.nothing }) { return nil }
        let has = found.map { "\($0)" } ?? "nothing"
        return "\(key).\(Plan.name(ofField: field)) has \(has) where the latest edit is "
            + allowed.map { "\($0.number) by \($0.device)" }.joined(separator: " or ")
    }
}

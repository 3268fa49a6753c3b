/// An edit of one record: the fields that it sets, or removes with nil.
package struct LocalEdit: Sendable {
    package enum Parent: Sendable {
        case unchanged
        case set(String?)
    }

    package var id: RecordID
    package var type: String
    package var changes: [Field]
    /// All fields, for a record that is not in the cache.
    package var initial: [Field]
    /// The parent, for a record that is not in the cache.
    package var initialParent: String?
    package var parent: Parent
    /// The record as the service had it when the app read it; nil when the app does not say.
    package var original: RecordSnapshot?
    /// Whether the app edits a record that existed before, here or on the service: if it is not here, it was deleted,
    /// unless it was never fetched.
    package var isKnown: Bool
    /// How often the app's record had been changed when the edit was made; shows which changes came after it.
    package var changeCount: Int

    package init(
        id: RecordID, type: String, changes: [Field], initial: [Field] = [],
        initialParent: String? = nil, parent: Parent = .unchanged,
        original: RecordSnapshot? = nil, isKnown: Bool = false, changeCount: Int = 0
    ) {
        self.id = id
        self.type = type
        self.changes = changes
        self.initial = initial
        self.initialParent = initialParent
        self.parent = parent
        self.original = original
        self.isKnown = isKnown
        self.changeCount = changeCount
    }

    /// The record that the edit creates if there was none.
    package func record(system: RecordSnapshot.SystemFields?) -> RecordSnapshot {
        var record = RecordSnapshot(
            id: id, type: type, system: system, parentRecordName: initialParent, fields: initial)
        apply(to: &record)
        return record
    }

    package func apply(to record: inout RecordSnapshot) {
        for field in changes { record.set(field) }
        if case .set(let name) = parent { record.parentRecordName = name }
    }
}

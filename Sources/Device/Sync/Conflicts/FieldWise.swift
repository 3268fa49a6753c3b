import StratusRecords

/// Resolves conflicts field by field: the last edit of each field wins, unless the field has
/// another rule.
///
/// The times of the edits are stored in one field of the record; see ``FieldTimes``. For a value
/// without a time, because an app without this feature wrote it or the schema lacks the field, the
/// service's modification date is used. At equal times the same value wins on all devices. So the
/// result depends only on the edits, not on the order of syncs.
///
/// Add the field to the schema as a STRING, or let a development environment do so. A list with its
/// own rule takes five characters for each element, a sequence about fifteen more.
///
/// ```swift
/// let resolver = FieldWise(rules: ["tags": .set, "steps": .sequence, "stock": .editCount])
/// let cache = try CloudCache(path: path, container: .default(), resolver: resolver)
/// ```
public struct FieldWise: ConflictResolver {
    /// The default name of the field of times.
    public static let defaultFieldTimesKey = "stratusFieldTimes"

    public var fieldTimesKey: String?
    /// The rules of fields other than ``FieldRule/editDate``.
    public var fieldRules: [String: FieldRule]

    /// - Parameters:
    ///   - fieldTimesKey: the field of the times; nil for none.
    ///   - rules: the rules of single fields. They must be the same on all devices while any device
    ///     has unsent edits.
    public init(
        fieldTimesKey: String? = FieldWise.defaultFieldTimesKey, rules: [String: FieldRule] = [:]
    ) {
        self.fieldTimesKey = fieldTimesKey
        fieldRules = rules
    }

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        let sides = Sides(conflict, fieldTimesKey)
        if let resolution = sides.resolutionOfTwoRecords { return resolution }
        var merged = conflict.server
        var times = FieldTimes()
        times.recreatedMilliseconds = sides.clientTimes.recreatedMilliseconds
        for name in sides.names {
            let rule = fieldRules[name] ?? .editDate
            if sides.mergeLists(name, rule, &merged, &times) { continue }
            let (client, server) = (sides.client(name, rule), sides.server(name, rule))
            if rule == .serverDate {
                if let time = server.time {
                    times.set(server.field, name, milliseconds: time)
                }
                continue
            }
            let isClientKept = client.wins(over: server)
            if isClientKept { merged.replace(name, from: conflict.client) }
            let time = isClientKept || client.field == server.field ? client.time : server.time
            if let time = max(time, client.field == server.field ? server.time : nil) {
                times.set(merged.field(name), name, milliseconds: time)
            }
        }
        let (client, server) = (sides.clientParent, sides.serverParent)
        if client.wins(over: server) {
            merged.parentRecordName = conflict.client.parentRecordName
        }
        let parentTime = max(
            client.wins(over: server) ? client.time : server.time,
            client.field == server.field ? client.time : nil)
        if let parentTime { times.setParent(merged.parentRecordName, milliseconds: parentTime) }
        // This includes fields that neither side has any more, because a third device may have them.
        times.takeRemovals(of: sides.serverTimes, butFor: merged.fields)
        times.takeRemovals(of: sides.clientTimes, butFor: merged.fields)
        if let fieldTimesKey, sides.haveTimes { merged[fieldTimesKey] = times.value }
        return .merge(merged)
    }

    private func max(_ one: Int64?, _ other: Int64?) -> Int64? {
        [one, other].compactMap(\.self).max()
    }
}

/// One side's value of a field, and its time.
struct TimedField {
    var field: Field?
    /// Nil if unknown: then the field was not edited.
    var time: Int64?

    /// Gives the same result on both devices, whichever is the client.
    func wins(over other: TimedField) -> Bool {
        if field == other.field { return false }
        let (time, otherTime) = (time ?? .min, other.time ?? .min)
        if time != otherTime { return time > otherTime }
        // A value wins over none; otherwise an order that is the same on all devices decides.
        guard let field, let value = field.value else { return false }
        guard let otherValue = other.field?.value else { return true }
        return FieldTimes.isOrdered(otherValue, value)
    }
}

/// A conflict's fields with their times.
private struct Sides {
    let conflict: SyncConflict
    let key: String?
    let clientTimes: FieldTimes
    let serverTimes: FieldTimes
    let names: [String]

    init(_ conflict: SyncConflict, _ key: String?) {
        self.conflict = conflict
        self.key = key
        clientTimes = FieldTimes(key.flatMap { conflict.client[$0] })
        serverTimes = FieldTimes(key.flatMap { conflict.server[$0] })
        let fields =
            conflict.server.fields + conflict.client.fields + (conflict.ancestor?.fields ?? [])
        names = Set(fields.map(\.name)).filter { $0 != key }.sorted()
    }

    /// Whether this device writes times; it does not if the schema lacks their field.
    var haveTimes: Bool {
        guard let key else { return false }
        return conflict.client[key] != nil || conflict.server[key] != nil
    }

    /// The resolution if one side deleted the record and created another of its name, unknown to
    /// the other side: no field of the deleted record gets into the new one, however late it was
    /// edited.
    var resolutionOfTwoRecords: ConflictResolution? {
        let (client, server) = (
            clientTimes.recreatedMilliseconds, serverTimes.recreatedMilliseconds
        )
        guard client != server else { return nil }
        guard client ?? .min > server ?? .min else { return .keepServer }
        var record = conflict.client
        record.system = conflict.server.system
        return .merge(record)
    }

    func client(_ name: String, _ rule: FieldRule) -> TimedField {
        let field = conflict.client.field(name)
        return side(field, name, rule, clientTimes, conflict.clientEditedMilliseconds)
    }

    func server(_ name: String, _ rule: FieldRule) -> TimedField {
        let field = conflict.server.field(name)
        let modified = conflict.server.system?.modifiedMilliseconds
        return side(field, name, rule, serverTimes, modified)
    }

    private func side(
        _ field: Field?, _ name: String, _ rule: FieldRule, _ times: FieldTimes, _ edited: Int64?
    ) -> TimedField {
        let ancestor = conflict.ancestor?.field(name)
        let known = times.milliseconds(of: field, name)
        if rule == .editCount {
            // An app that does not count edits has made at least one.
            return TimedField(field: field, time: known ?? (field == ancestor ? nil : 1))
        }
        return TimedField(field: field, time: known ?? absent(field, ancestor, edited))
    }

    /// Merges two lists; false if the rule does not apply to lists, or one side is not a list.
    func mergeLists(
        _ name: String, _ rule: FieldRule, _ merged: inout RecordSnapshot,
        _ times: inout FieldTimes
    ) -> Bool {
        guard
            let lists = ListMerge(
                name, rule: rule, conflict,
                ancestor: FieldTimes(key.flatMap { conflict.ancestor?[$0] }),
                client: clientTimes, server: serverTimes)
        else { return false }
        let field = conflict.server.field(name) ?? conflict.client.field(name)
        let isEncrypted =
            [conflict.client.field(name), conflict.server.field(name)]
            .contains { $0?.isEncrypted == true }
        let elements = lists.merged(&times, areTimesKept: !isEncrypted)
        // Lists with different element types cannot be merged.
        guard let value = FieldValue.list(elements) else { return false }
        guard var field else { return true }
        field.isEncrypted = isEncrypted
        let isGone =
            elements.isEmpty && (conflict.client[name] == nil || conflict.server[name] == nil)
        field.value = elements.isEmpty ? .emptyList : value
        if isGone { merged[name] = nil } else { merged.set(field) }
        return true
    }

    var clientParent: TimedField {
        parent(conflict.client, clientTimes, conflict.clientEditedMilliseconds)
    }

    var serverParent: TimedField {
        parent(conflict.server, serverTimes, conflict.server.system?.modifiedMilliseconds)
    }

    private func parent(
        _ record: RecordSnapshot, _ times: FieldTimes, _ edited: Int64?
    ) -> TimedField {
        let field = FieldTimes.parentField(record.parentRecordName)
        let ancestor = conflict.ancestor.flatMap { FieldTimes.parentField($0.parentRecordName) }
        return TimedField(
            field: field,
            time: times.milliseconds(ofParent: record.parentRecordName)
                ?? absent(field, ancestor, edited))
    }

    /// The time of a value without one: an unchanged value is as old as the ancestor.
    private func absent(_ field: Field?, _ ancestor: Field?, _ edited: Int64?) -> Int64? {
        if field == ancestor {
            return field == nil ? nil : conflict.ancestor?.system?.modifiedMilliseconds
        }
        return edited
    }
}

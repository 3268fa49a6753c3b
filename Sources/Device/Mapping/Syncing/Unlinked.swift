import StratusClient

/// What a record refers to by one reference, when some of it was not here yet to link to.
struct Unlinked: Codable, Hashable {
    /// All that the record refers to, in its order.
    var names: [String]
    var missing: [String]

    /// What an object has, joined by some of what it lacks: in the record's order, or at the end
    /// where the app has another order by now.
    func joined(_ had: [String], by present: Set<String>) -> [String] {
        let held = Set(had)
        let joined = names.filter { held.contains($0) || present.contains($0) }
        if joined.filter(held.contains) == had { return joined }
        return had + names.filter { present.contains($0) && !held.contains($0) }
    }
}

extension MappedReference {
    /// What an object lacks of what its record refers to; nil where it has all that there is.
    ///
    /// - Parameter isMissing: says it of a name.
    func unlinked(
        _ entity: Entity, in record: CKRecord, isMissing: (String) -> Bool
    ) -> Unlinked? {
        // Rows hold names, whether their rows are here or not.
        guard case .objects = read(entity) else { return nil }
        let names = names(in: record)
        let missing = names.filter(isMissing)
        return missing.isEmpty ? nil : Unlinked(names: names, missing: missing)
    }

    /// Gives an object what has come.
    ///
    /// - Returns: whether it lacked any of it; an app may have linked to something else meanwhile.
    func join(
        _ arrived: [String: any CloudEntity], of unlinked: Unlinked, to entity: inout Entity
    ) -> Bool {
        var filling = Filling(names: [], objects: arrived)
        for (place, object) in objects(of: entity).enumerated() {
            // What was never saved has no name, and no name has a blank at its start.
            let name = object.cloudID ?? " \(place)"
            filling.names.append(name)
            filling.objects[name] = object
        }
        guard isList || filling.names.isEmpty else { return false }
        let had = filling.names
        let present = Set(unlinked.missing.filter { arrived[$0] != nil })
        filling.names = unlinked.joined(had, by: present)
        guard filling.names != had else { return false }
        fill(&entity, filling)
        return true
    }

    /// Leaves in a record that is to be saved what its object could not be linked to.
    ///
    /// - Parameter base: the record as it is now.
    func keep(_ unlinked: Unlinked, of base: CKRecord, in wanted: CKRecord) {
        let had = names(in: wanted)
        guard isList || had.isEmpty else { return }
        let present = Set(names(in: base)).intersection(unlinked.missing)
        let kept = unlinked.joined(had, by: present)
        guard kept != had else { return }
        let references = kept.map { name in
            CKRecord.Reference(
                recordID: CKRecord.ID(recordName: name, zoneID: base.recordID.zoneID),
                action: target.isWeakTarget ? .deleteSelf : .none)
        }
        if isList {
            wanted[self.name] = references
        } else {
            wanted[self.name] = references.first
        }
    }
}

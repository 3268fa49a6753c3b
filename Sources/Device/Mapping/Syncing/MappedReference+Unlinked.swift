import StratusClient

extension MappedReference {
    /// The targets that an object lacks; nil if it has all.
    ///
    /// - Parameter isMissing: whether the target with a name is missing.
    func unlinked(
        _ entity: Entity, in record: CKRecord, isMissing: (String) -> Bool
    ) -> Unlinked? {
        // Rows store names, whether or not the targets are here.
        guard case .objects = read(entity) else { return nil }
        let names = names(in: record)
        let missing = names.filter(isMissing)
        return missing.isEmpty ? nil : Unlinked(names: names, missing: missing)
    }

    /// Links an object to arrived targets.
    ///
    /// - Returns: whether it lacked any of them; the app may have linked to other objects
    ///   meanwhile.
    func join(
        _ arrived: [String: any CloudEntity], of unlinked: Unlinked, to entity: inout Entity
    ) -> Bool {
        var filling = Filling(names: [], objects: arrived)
        for (place, object) in objects(of: entity).enumerated() {
            // An object that was never saved has no name, and no name begins with a space.
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

    /// Keeps the unlinked targets in a record that is saved.
    ///
    /// - Parameter base: the service's current record.
    func keep(_ unlinked: Unlinked, of base: CKRecord, in wanted: CKRecord) {
        let had = names(in: wanted)
        guard isList || had.isEmpty else { return }
        let present = Set(names(in: base)).intersection(unlinked.missing)
        let kept = unlinked.joined(had, by: present)
        guard kept != had else { return }
        let references = kept.map { name in
            CKRecord.Reference(
                recordID: CKRecord.ID(known: name, zoneID: base.recordID.zoneID),
                action: target.isWeakTarget ? .deleteSelf : .none)
        }
        if isList {
            wanted[self.name] = references
        } else {
            wanted[self.name] = references.first
        }
    }
}

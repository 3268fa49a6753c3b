import Foundation
import StratusClient
import StratusRecords

extension CloudMap {
    /// Every field that the map writes, except assets.
    var plainNames: [String] {
        [changeDateName] + fields.filter { !$0.isAsset }.map(\.name) + references.map(\.name)
    }

    /// Makes a new record from an object.
    ///
    /// - Parameters:
    ///   - base: the service's current record; nil if there is none.
    ///   - ignored: names of ignored rows, to which the record refers only if the base does.
    func record(
        of entity: Entity, _ id: CKRecord.ID, base: CKRecord?, ignored: Set<String>,
        mapping: CloudMapping
    ) throws -> CKRecord {
        let record = CKRecord(recordType: recordType, recordID: id)
        record[changeDateName] = entity.changeMilliseconds.map { Date(wholeMilliseconds: $0) }
        // Files are compared and set separately.
        for field in fields where !field.isAsset {
            record[field.name] = field.read(entity)
        }
        for reference in references {
            let action: CKRecord.ReferenceAction =
                reference.target.isWeakTarget ? .deleteSelf : .none
            let absent = ignored.subtracting(base.map { reference.names(in: $0) } ?? [])
            let names = mapping.targets(of: reference, in: entity).filter { !absent.contains($0) }
            let list = names.map {
                CKRecord.Reference(recordID: mapping.recordID($0), action: action)
            }
            if reference.isList {
                if !list.isEmpty { record[reference.name] = list }
            } else {
                record[reference.name] = list.first
            }
        }
        return record
    }

    /// Copies fields of another record into a record; the other fields stay unchanged.
    ///
    /// - Parameters:
    ///   - only: the fields to copy; nil means all.
    ///   - isDated: whether the change date is copied with some of the fields.
    ///   - mapping: knows which files the service has, and whether an asset without a file stays unchanged.
    /// - Returns: digests of the files that were read, by field.
    func copy(
        _ wanted: CKRecord, of entity: Entity, to record: CKRecord, fields only: Set<String>?,
        isDated: Bool, mapping: CloudMapping
    ) throws -> [String: String] {
        let name = record.recordID.recordName
        let unlinked = mapping.ledger.unlinked(recordType, name)
        for reference in references {
            guard var lacking = unlinked[reference.name] else { continue }
            lacking.missing.removeAll {
                mapping.ledger.isDeleted(reference.target.recordTypeName, $0)
            }
            reference.keep(lacking, of: record, in: wanted)
        }
        let new = try RecordSnapshot(wanted)
        let old = try RecordSnapshot(record)
        var digests: [String: String] = [:]
        for field in fields where field.isAsset && only?.contains(field.name) ?? true {
            let known = record.object(forKey: field.name) as? CKAsset
            if let asset = field.read(entity) {
                let digest = (asset as? CKAsset)?.fileURL.flatMap { FileDigest.text(of: $0) }
                digests[field.name] = digest
                let kept = mapping.ledger.file(recordType, name, field.name)
                let isThere =
                    kept != nil && kept?.digest == digest
                    && kept?.checksum == known?.knownValue?.fileChecksum
                if !isThere { record[field.name] = asset }
                continue
            }
            // A file that this device has not fetched was not removed.
            let isFetched = mapping.ledger.file(recordType, name, field.name)?.isHere ?? true
            if let known, isFetched, !mapping.source.mayLackFiles || known.fileURL != nil {
                record.setObject(nil, forKey: field.name)
            }
        }
        let strange = try strangeNames(in: record, old, comparedWith: new)
        for name in plainNames where only?.contains(name) ?? true {
            if new[name] != old[name], !strange.contains(name) {
                record.setObject(wanted.object(forKey: name), forKey: name)
            }
        }
        if only != nil, isDated, new[changeDateName] != old[changeDateName] {
            record.setObject(wanted.object(forKey: changeDateName), forKey: changeDateName)
        }
        return digests
    }

    /// Fields with values that this app cannot read, such as those of a newer app or encrypted ones
    /// without a key, while the object has no value of its own: they are not overwritten.
    private func strangeNames(
        in record: CKRecord, _ old: RecordSnapshot, comparedWith new: RecordSnapshot
    ) throws -> Set<String> {
        let strange = fields.filter {
            !$0.isAsset && old[$0.name] != nil && !$0.isKnown(record)
        }
        let fallbacks = CKRecord(recordType: recordType)
        for field in strange { fallbacks[field.name] = field.fallback() }
        let without = try RecordSnapshot(fallbacks)
        let links = references.filter {
            old[$0.name] != nil && new[$0.name] == nil && $0.names(in: record).isEmpty
        }
        return Set(strange.map(\.name).filter { new[$0] == without[$0] } + links.map(\.name))
    }

    /// The files of a fetched or saved record whose digests are known. A file that a fetched record lacks has the
    /// digest of the object's former file.
    ///
    /// - Parameters:
    ///   - digests: those of a saved record's files, by field; nil for a fetched record.
    ///   - former: the digest of the file that the object keeps if the record's was not fetched.
    func files(
        of record: CKRecord, digests: [String: String]? = nil,
        former: (MappedField<Entity>) -> String? = { _ in nil }
    ) -> [String: SyncLedger.KnownFile] {
        var files: [String: SyncLedger.KnownFile] = [:]
        for field in fields where field.isAsset {
            guard let asset = record.object(forKey: field.name) as? CKAsset,
                let checksum = asset.knownValue?.fileChecksum
            else { continue }
            let digest: String? =
                if let digests { digests[field.name] } else if let url = asset.fileURL {
                    FileDigest.text(of: url)
                } else {
                    former(field) ?? SyncLedger.KnownFile.digestOfNone
                }
            if let digest {
                files[field.name] = SyncLedger.KnownFile(digest: digest, checksum: checksum)
            }
        }
        return files
    }

    /// Whether an object and a record differ, except for assets, which would have to be read.
    ///
    /// - Parameter ignored: names of ignored rows to which the object refers.
    func differs(
        _ entity: Entity, _ record: CKRecord, ignored: Set<String>, mapping: CloudMapping
    ) throws -> Bool {
        let mine = try RecordSnapshot(
            try self.record(
                of: entity, record.recordID, base: record, ignored: ignored, mapping: mapping))
        let theirs = try RecordSnapshot(record)
        return plainNames.contains { mine[$0] != theirs[$0] }
    }

    /// Fills an object's fields, and its placeholders.
    func fill(_ entity: inout Entity, from record: CKRecord) {
        for field in fields { field.write(&entity, record) }
        Entity.syncIDKey?.set(&entity, record.recordID.recordName)
        Entity.changeDateKey?.set(
            &entity, changeMilliseconds(of: record).map { Date(wholeMilliseconds: $0) })
    }
}

extension CloudMapping {
    /// The names of the objects that an object refers to, except those that are not in the cloud:
    /// deleted or ignored ones.
    func targets<E: CloudEntity>(of reference: MappedReference<E>, in entity: E) -> [String] {
        let type = reference.target.recordTypeName
        let names: [String] =
            switch reference.read(entity) {
            case .names(let names): names
            case .objects(let objects):
                objects.filter { !isIgnored($0) }.compactMap(\.cloudID)
            }
        return names.filter { !ledger.isDeleted(type, $0) }
    }
}

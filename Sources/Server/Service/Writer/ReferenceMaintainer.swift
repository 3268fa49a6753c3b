import StratusStorage

/// Keeps the references with an action, by their targets: ``ReferenceRow``.
struct ReferenceMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try update(write, in: rows)
    }

    /// The fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try update(write, in: rows)
    }

    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        try stored(write, in: rows)
    }

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// The store deletes a zone's references with it; they stay within their zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func update(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        let row = write.row
        var stored: Set<ActingReference> = []
        if let old = write.old {
            do {
                stored = try ActingReference.all(in: old.payload)
            } catch {
                // The old references cannot be parsed, so all stored ones of the record are
                // searched for and deleted.
                try rows.deleteReferences(heldBy: row.name, in: row.zone)
            }
        }
        for reference in stored.subtracting(write.references) {
            try rows.delete(reference.row(heldBy: row))
        }
        for reference in write.references.subtracting(stored) {
            try rows.put(reference.row(heldBy: row))
        }
    }
}

extension ActingReference {
    fileprivate func row(heldBy holder: RecordRow) -> ReferenceRow {
        ReferenceRow(zone: holder.zone, target: target, action: action, holder: holder.name)
    }
}

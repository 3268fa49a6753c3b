import StratusClient

// Ignored objects are not in the cloud, so records do not refer to them; objects still do.

extension CloudMapping {
    /// The names of ignored rows to which a row refers weakly and which this device has never found in the cloud. The
    /// service refuses a weak reference to a missing record.
    func ignoredRows<E: CloudEntity>(of entity: E) async throws -> Set<String> {
        var ignored: Set<String> = []
        for reference in E.cloudMap.references where reference.target.isWeakTarget {
            guard case .names(let names) = reference.read(entity) else { continue }
            for name in names where ledger.known(reference.target.recordTypeName, name) == nil {
                if let row = try await store.fetch(reference.target, syncID: name), isIgnored(row) {
                    ignored.insert(name)
                }
            }
        }
        return ignored
    }

    /// How many of an object's references are to ignored objects, and so missing in its record.
    ///
    /// - Parameter rows: see ``ignoredRows(of:)``.
    func ignoredCount<E: CloudEntity>(of entity: E, rows: Set<String>) -> Int {
        E.cloudMap.references.reduce(rows.count) { count, reference in
            count + reference.objects(of: entity).filter { isIgnored($0) }.count
        }
    }

    private func ignoredKey(_ type: String, _ name: String) -> String { "ignored \(type) \(name)" }

    /// Notes how many references a saved record lacks.
    func noteIgnored(_ count: Int, ofType type: String, _ name: String) throws {
        try ledger.set(ignoredKey(type, name), count == 0 ? nil : "\(count)")
    }

    /// The names of the objects whose records lack references to objects that are no longer ignored.
    func relinkedNames<E: CloudEntity>(of objects: [String: E]) async throws -> Set<String> {
        var names: Set<String> = []
        for name in ledger.keys(after: ignoredKey(E.recordTypeName, "")) {
            let noted = ledger.value(ignoredKey(E.recordTypeName, name)).flatMap { Int($0) } ?? 0
            guard let object = objects[name] else { continue }
            let rows = try await ignoredRows(of: object)
            if ignoredCount(of: object, rows: rows) < noted { names.insert(name) }
        }
        return names
    }
}

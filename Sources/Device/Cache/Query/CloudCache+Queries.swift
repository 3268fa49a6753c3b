import GRDB
import StratusClient
import StratusRecords

/// Queries of the records on this device, online or offline; each has a blocking and an async form.
extension CloudCache {
    /// The records that a query finds, in its order.
    ///
    /// - Throws: `CKError.invalidArguments` that names the part that is not supported; SQLite's error.
    public func records(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) throws -> [CKRecord] {
        try page(matching: query, in: scope).records
    }

    /// A page of the records that a query finds, up to its limit, with a cursor for the next page.
    ///
    /// ```swift
    /// var query = CacheQuery("Note").sorted(by: "date").limited(to: 50)
    /// repeat {
    ///     let page = try await cache.page(matching: query)
    ///     print(page.records.count)
    ///     query.cursor = page.cursor
    /// } while query.cursor != nil
    /// ```
    public func page(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) throws -> CachePage {
        let store = try database(scope).store
        let compiled = try query.compiled(now: world.now)
        let found = try store.read { try store.find(compiled, $0) }
        return try CachePage(found, of: compiled, file)
    }

    /// How many records a query finds; its limit counts, if it has one.
    public func count(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) throws -> Int {
        let store = try database(scope).store
        let compiled = try query.compiled(now: world.now)
        return try store.read { try store.count(compiled, $0) }
    }

    // MARK: For tasks

    /// The records that a query finds; see the blocking form.
    public func records(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) async throws -> [CKRecord] {
        try await file.disk.read { [self] in try records(matching: query, in: scope) }
    }

    /// A page of the records that a query finds; see the blocking form.
    public func page(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) async throws -> CachePage {
        try await file.disk.read { [self] in try page(matching: query, in: scope) }
    }

    /// How many records a query finds; see the blocking form.
    public func count(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) async throws -> Int {
        try await file.disk.read { [self] in try count(matching: query, in: scope) }
    }
}

extension CachePage {
    init(_ found: [FoundRecord], of query: CompiledQuery, _ file: CacheFile) throws {
        let limit = query.limit ?? .max
        let shown = found.prefix(limit)
        records = try shown.map { file.withFiles(try $0.record.record()) }
        if found.count > limit, let last = shown.last {
            cursor = CacheCursor(
                place: last.place.place, zoneKey: last.place.zoneKey, now: query.now)
        }
    }
}

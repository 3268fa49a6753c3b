import StratusRecords
import StratusStorage

/// How much more a database may hold: the public one of a container, or a user's private one.
///
/// A change that makes a database smaller is always accepted, also when it is full or its limit was lowered.
struct Quota: Sendable {
    let error: ServiceError
    private(set) var freeRecordBytes: Int64
    private(set) var freeAssetBytes: Int64

    /// - Parameters:
    ///   - recordBytes: The size of the database's records in bytes.
    ///   - assetBytes: The size of its assets in bytes.
    init(
        _ tenant: DatabaseAddress.Tenant, limits: Limits, recordBytes: Int64, assetBytes: Int64
    ) {
        switch tenant {
        case .public:
            error = .publicQuotaExceeded
            freeRecordBytes = Int64(limits.publicRecordBytes) - recordBytes
            freeAssetBytes = Int64(limits.publicAssetBytes) - assetBytes
        case .private:
            error = .privateQuotaExceeded
            freeRecordBytes = Int64(limits.privateDatabaseBytes) - recordBytes - assetBytes
            freeAssetBytes = freeRecordBytes
        }
    }

    /// The quota of the request's database; nil if it has none of its own.
    init?(in context: RequestContext, reader: any StoreReader) throws {
        guard let address = try context.databaseAddress() else { return nil }
        self.init(
            address.tenant, limits: context.limits, recordBytes: try reader.recordBytes,
            assetBytes: try reader.assetBytes)
    }

    /// Reserves room for records, or gives back what they freed.
    ///
    /// - Returns: false when there is not enough; nothing is reserved then.
    mutating func takeRecordBytes(_ bytes: Int64) -> Bool {
        guard bytes <= 0 || bytes <= freeRecordBytes else { return false }
        freeRecordBytes -= bytes
        return true
    }
}

extension ModifyDecisions {
    /// Fails the operations for which there is no room, in the order of the request; bytes that the same request frees
    /// count first.
    ///
    /// - Returns: Whether something failed.
    mutating func apply(_ quota: Quota) -> Bool {
        var quota = quota
        let growths = plan.items.indices.map { ($0, growthBytes(of: $0)) }
        for (_, bytes) in growths where bytes < 0 { _ = quota.takeRecordBytes(bytes) }
        var hasFailed = false
        for (index, bytes) in growths where bytes > 0 && !quota.takeRecordBytes(bytes) {
            fail(index, quota.error)
            hasFailed = true
        }
        return hasFailed
    }
}

/// The size of the living records in bytes, as quotas count it (``RecordUsage``).
///
/// This maintainer does nothing: triggers on the table of records keep the sum, regardless of which statement changes a
/// row. It is listed so that readers find it here.
struct UsageMaintainer: RecordMaintainer {
    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// A trigger adds the row's size, and subtracts that of the row it replaces.
    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// Name and fields stay as they are.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts the record's size; a tombstone counts nothing.
    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// The store counts the bytes again before.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) {}

    /// A trigger subtracts each record that the store deletes with the zone.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}
}

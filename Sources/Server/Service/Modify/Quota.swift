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

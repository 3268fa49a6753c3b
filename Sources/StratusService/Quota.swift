import StratusRecords
import StratusStorage
import StratusWire

/// How much more a database may hold: the public one of a container, or a user's private one.
///
/// What makes a database smaller always goes through, also when it is full or a lower limit was set.
struct Quota: Sendable {
    let error: ServiceError
    private var free: (recordBytes: Int64, assetBytes: Int64, bytes: Int64)

    init(_ tenant: DatabaseAddress.Tenant, limits: Limits, usage: StoreUsage) {
        switch tenant {
        case .public:
            error = .publicQuotaExceeded
            free = (
                Int64(limits.publicRecordBytes) - usage.recordBytes,
                Int64(limits.publicAssetBytes) - usage.assetBytes, .max
            )
        case .private:
            error = .privateQuotaExceeded
            free = (
                .max, .max,
                Int64(limits.privateDatabaseBytes) - usage.recordBytes - usage.assetBytes
            )
        }
    }

    /// The quota of the database that a request is about; nil where it has none of its own.
    init?(in context: RequestContext, usage: StoreUsage) throws {
        guard let address = try context.databaseAddress() else { return nil }
        self.init(address.tenant, limits: context.limits, usage: usage)
    }

    /// Whether there is room for assets of so many bytes, before they are uploaded.
    func hasRoom(forAssetBytes bytes: Int64) -> Bool {
        bytes <= free.assetBytes && bytes <= free.bytes
    }

    /// Gives back what an operation freed.
    mutating func free(_ growth: StoreUsage) {
        take(growth)
    }

    /// Takes room for what an operation adds.
    ///
    /// - Returns: false when there is none; nothing is taken then.
    mutating func add(_ growth: StoreUsage) -> Bool {
        let all = growth.recordBytes + growth.assetBytes
        guard growth.recordBytes <= 0 || growth.recordBytes <= free.recordBytes,
            growth.assetBytes <= 0 || growth.assetBytes <= free.assetBytes,
            all <= 0 || all <= free.bytes
        else { return false }
        take(growth)
        return true
    }

    private mutating func take(_ growth: StoreUsage) {
        // The unlimited stay so.
        if free.recordBytes != .max { free.recordBytes -= growth.recordBytes }
        if free.assetBytes != .max { free.assetBytes -= growth.assetBytes }
        if free.bytes != .max { free.bytes -= growth.recordBytes + growth.assetBytes }
    }
}

extension StoreUsage {
    /// What a record with these fields holds.
    init(_ row: RecordRow, fields: [Field]) {
        self.init(recordBytes: row.sizeBytes, assetBytes: row.isDeleted ? 0 : Self.assets(fields))
    }

    /// What a stored record holds. Its fields are read only where there may be an asset.
    init(stored row: RecordRow) throws(WireError) {
        guard !row.isDeleted, row.payload.mayHaveAssets else {
            self.init(recordBytes: row.sizeBytes)
            return
        }
        self.init(row, fields: try RecordFields.encoded(row.payload).values())
    }

    private static func assets(_ fields: [Field]) -> Int64 {
        fields.reduce(0) { sum, field in
            switch field.value {
            case .asset(let asset): sum + (asset.sizeBytes ?? 0)
            case .assetList(let assets): assets.reduce(sum) { $0 + ($1.sizeBytes ?? 0) }
            default: sum
            }
        }
    }
}

extension [UInt8] {
    /// Whether the word that types an asset, or a list of them, stands in a payload.
    fileprivate var mayHaveAssets: Bool {
        let word = Self.assetWord
        guard count >= word.count else { return false }
        return withUnsafeBufferPointer { bytes in
            var start = 0
            while start <= bytes.count - word.count {
                // The rarest letter of the word decides how far to go on.
                switch bytes[start + 6] {
                case UInt8(ascii: "D"):
                    if bytes[start..<start + word.count].elementsEqual(word) { return true }
                    start += 1
                case UInt8(ascii: "A"), UInt8(ascii: "S"), UInt8(ascii: "E"), UInt8(ascii: "T"),
                    UInt8(ascii: "I"):
                    start += 1
                default: start += word.count
                }
            }
            return false
        }
    }

    private static let assetWord = Array("ASSETID".utf8)
}

extension ModifyDecisions {
    /// Fails what there is no room for, in the order of the request; what the same request frees counts
    /// first.
    ///
    /// - Returns: Whether something failed.
    mutating func applyQuota(_ quota: Quota) throws -> Bool {
        var quota = quota
        var growths: [(index: Int, growth: StoreUsage)] = []
        for index in plan.items.indices {
            guard let growth = try growth(of: index) else { continue }
            if growth.recordBytes <= 0, growth.assetBytes <= 0 {
                quota.free(growth)
            } else {
                growths.append((index, growth))
            }
        }
        var hasFailed = false
        for (index, growth) in growths where !quota.add(growth) {
            fail(index, quota.error)
            hasFailed = true
        }
        return hasFailed
    }
}

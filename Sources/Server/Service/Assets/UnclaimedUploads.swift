import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// What each user has uploaded to the public database, or to another user's, and no record has yet: these bytes count for
/// a quota that is not the user's own.
///
/// A user may have as many of them as are left free afterwards, and one asset in any case. So one user takes at most half
/// of what is free, and `n` users leave a part of `n + 1`. They are counted in memory: after a restart earlier uploads
/// count for the quota only.
final class UnclaimedUploads: Sendable {
    private struct Key: Hashable {
        var database: DatabaseAddress
        var user: String
    }

    /// The uploads of a user to a database by the digest of their content; some may have a record by now.
    private let sizes = Mutex(LRUCache<Key, [[UInt8]: Int64]>(capacity: 1_000))

    /// How many assets without a record a user may have: each is also a file and a row.
    private static let assetsPerUser = 10_000

    /// How many bytes the next asset may have.
    ///
    /// - Parameters:
    ///   - freeBytes: What the database's quota leaves.
    ///   - largestBytes: What an asset may have.
    ///   - work: Is charged for the assets that were looked up.
    func room(
        for user: String, in database: DatabaseAddress, freeBytes: Int64, largestBytes: Int64,
        _ reader: any StoreReader, _ work: RequestWork
    ) throws -> Int64 {
        guard database.owner != user else { return freeBytes }
        let key = Key(database: database, user: user)
        let known = sizes.withLock { $0[key] } ?? [:]
        guard !known.isEmpty else { return freeBytes }
        let knownBytes = known.values.reduce(0, +)
        if known.count < Self.assetsPerUser, largestBytes <= (freeBytes - knownBytes) / 2 {
            return freeBytes
        }
        work.add(recordsRead: known.count)
        let unclaimed = try known.filter { try reader.asset($0.key)?.references == 0 }
        sizes.withLock { sizes in
            // Others may have been added since.
            sizes[key] = sizes[key]?.filter {
                known[$0.key] == nil || unclaimed[$0.key] != nil
            }
        }
        guard !unclaimed.isEmpty else { return freeBytes }
        guard unclaimed.count < Self.assetsPerUser else { return 0 }
        return max(0, (freeBytes - unclaimed.values.reduce(0, +)) / 2)
    }

    /// Counts an uploaded asset, unless a record has it already.
    func add(_ asset: AssetRow, by user: String, to database: DatabaseAddress) {
        guard database.owner != user, asset.references == 0 else { return }
        let key = Key(database: database, user: user)
        sizes.withLock { sizes in
            var own = sizes[key] ?? [:]
            // Otherwise adding one would copy them all.
            sizes[key] = nil
            own[asset.blob.sha256] = asset.sizeBytes
            sizes[key] = own
        }
    }
}

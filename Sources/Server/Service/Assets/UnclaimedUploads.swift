import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// What each user has uploaded to the public database, or to another user's, and no record has yet: these bytes count for
/// a quota that is not the user's own.
///
/// A user may have as many of them as are left free afterwards, and one asset in any case. So one user takes at most half
/// of what is free, and `n` users leave a part of `n + 1`. They are counted in memory. What a user uploaded before the
/// service was started is found in the database when the user next uploads: a blob's generation says whose upload it is.
final class UnclaimedUploads: Sendable {
    private struct Key: Hashable {
        var database: DatabaseAddress
        var user: String
    }

    private struct Uploads {
        /// The sizes by the digest of the content; some of the assets may have a record by now.
        var sizes: [[UInt8]: Int64] = [:]
        /// How many are remembered before they are looked up, and those that have a record are forgotten.
        var countToLookUp = UnclaimedUploads.leastCountToLookUp
        /// Whether they include those from before the service was started, and those that were removed from the cache.
        var isRestored = false
    }

    private let uploads = Mutex(LRUCache<Key, Uploads>(capacity: 1_000))

    /// How many assets without a record a user may have: each is also a file and a row.
    private static let assetsPerUser = 10_000

    /// In how many assets without a record, of all users, one's own from before the service was started are looked for.
    private static let assetsSearched = 10_000

    /// Assets up to this number are not looked up for each upload.
    private static let leastCountToLookUp = 100

    /// How many bytes the next asset may have.
    ///
    /// - Parameters:
    ///   - mark: The user's mark in the generations of blobs.
    ///   - freeBytes: What the database's quota leaves.
    ///   - largestBytes: What an asset may have.
    ///   - work: Is charged for the assets that were looked up.
    ///   - lookedUp: The digests of uploads that a moment ago no record had: they are not looked up again. Returns those
    ///     that no record has, if they were looked up.
    func room(
        for user: String, marked mark: UInt32, in database: DatabaseAddress, freeBytes: Int64,
        largestBytes: Int64, _ reader: any StoreReader, _ work: RequestWork,
        lookedUp: inout Set<[UInt8]>
    ) throws -> Int64 {
        // A full database has no room, whatever the uploads are.
        guard database.owner != user, freeBytes > 0 else { return freeBytes }
        let key = Key(database: database, user: user)
        let own = try restored(key, mark, reader, work)
        guard !own.sizes.isEmpty else { return freeBytes }
        let known = own.sizes
        let knownBytes = known.values.reduce(0, +)
        if known.count < own.countToLookUp, largestBytes <= (freeBytes - knownBytes) / 2 {
            return freeBytes
        }
        let digests = known.keys.filter { !lookedUp.contains($0) }
        work.add(recordsRead: digests.count)
        let claimed = Set(try digests.filter { try reader.asset($0)?.references != 0 })
        let unclaimed = known.filter { !claimed.contains($0.key) }
        lookedUp = Set(unclaimed.keys)
        uploads.withLock { uploads in
            guard var own = uploads[key] else { return }
            // Others may have been added since.
            own.sizes = own.sizes.filter { known[$0.key] == nil || unclaimed[$0.key] != nil }
            // Twice as many, so that each upload causes few look-ups.
            own.countToLookUp = min(
                max(2 * unclaimed.count, Self.leastCountToLookUp), Self.assetsPerUser)
            uploads[key] = own
        }
        guard !unclaimed.isEmpty else { return freeBytes }
        guard unclaimed.count < Self.assetsPerUser else { return 0 }
        return max(0, (freeBytes - unclaimed.values.reduce(0, +)) / 2)
    }

    /// A user's uploads, also those that the database has from before they were counted here. Assets of deleted records
    /// are not among them.
    private func restored(
        _ key: Key, _ mark: UInt32, _ reader: any StoreReader, _ work: RequestWork
    ) throws -> Uploads {
        if let own = uploads.withLock({ $0[key] }), own.isRestored { return own }
        let stored = try reader.unreferencedAssets(
            generationPrefix: mark, amongLast: Self.assetsSearched)
        work.add(recordsRead: stored.count)
        return uploads.withLock { uploads in
            var own = uploads[key] ?? Uploads()
            // Assets of deleted records stay for two days: counting them would stop a user who deletes many.
            for asset in stored where asset.isNewUpload {
                own.sizes[asset.blob.sha256] = asset.sizeBytes
            }
            own.isRestored = true
            uploads[key] = own
            return own
        }
    }

    /// The generation of an uploaded blob. In a database that is not the user's own, its first half says who uploaded it.
    static func generation(
        of user: String, marked mark: UInt32, in database: DatabaseAddress, random: UInt64
    ) -> UInt64 {
        database.owner == user ? random : UInt64(mark) << 32 | random & 0xFFFF_FFFF
    }

    /// A user's mark in the generations of a database's blobs. Everyone who has an asset's address can read it there, so
    /// only the service can compute it: a hash of the name alone would tell them who uploaded the asset.
    static func mark(
        of user: String, in database: DatabaseAddress, _ signer: TokenSigner
    ) -> UInt32 {
        signer.code(of: ChangeToken.mark(of: database) + Array(user.utf8), for: .uploader)
            .prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Counts an uploaded asset, unless a record has it already.
    func add(_ asset: AssetRow, by user: String, to database: DatabaseAddress) {
        guard database.owner != user, asset.references == 0 else { return }
        let key = Key(database: database, user: user)
        uploads.withLock { uploads in
            var own = uploads[key] ?? Uploads()
            // Otherwise adding one would copy them all.
            uploads[key] = nil
            own.sizes[asset.blob.sha256] = asset.sizeBytes
            uploads[key] = own
        }
    }
}

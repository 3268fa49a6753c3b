import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

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

/// How many bytes of outcomes each user's requests may leave for a week (``IdempotencyRecord``): no quota counts them.
///
/// Beyond that, an outcome is kept for an hour only. A request that is sent again soon still finds its outcome, and the
/// rate of requests limits how many are stored in an hour. A device may use a quarter of its user's room, so that one
/// that sends without end does not take the week from the user's other devices.
///
/// What is left is counted in memory, and is whole again after a restart.
final class OutcomeRoom: Sendable {
    private struct Holder: Hashable {
        var user: String
        var container: ContainerAddress
        /// Nil for all devices of the user.
        var device: String?
    }

    /// Apart from each other: a client gives its device any name, and many names must not make the service forget what
    /// users have taken.
    private struct Left {
        var ofUsers: LRUCache<Holder, TokenBucket>
        var ofDevices: LRUCache<Holder, TokenBucket>
    }

    /// How long outcomes are kept for which there is room, in seconds.
    static let weekSeconds: Int64 = 7 * 24 * 3600
    /// How long the others are kept.
    static let shortSeconds: Int64 = 3_600
    private static let devicesPerUser = 4.0

    private let userRate: TokenBucket.Rate
    private let deviceRate: TokenBucket.Rate
    private let world: World
    private let left: Mutex<Left>

    /// - Parameter holders: Of how many users, and of how many devices, what is left is remembered.
    init(limits: Limits, world: World, holders: Int = 65_536) {
        self.world = world
        left = Mutex(
            Left(ofUsers: LRUCache(capacity: holders), ofDevices: LRUCache(capacity: holders)))
        // In one week a full bucket can be used, and what is added to it.
        let bytes = Double(limits.outcomeBytesPerUser) / 2
        func rate(_ bytes: Double) -> TokenBucket.Rate {
            TokenBucket.Rate(perSecond: bytes / Double(Self.weekSeconds), burst: bytes)
        }
        userRate = rate(bytes)
        deviceRate = rate(bytes / Self.devicesPerUser)
    }

    /// How long an outcome is kept, in seconds: as long as wanted if there is room for it, which it then takes.
    func seconds(
        _ wanted: Int64, forBytes count: Int, of operation: OperationKey,
        in container: ContainerAddress
    ) -> Int64 {
        guard wanted > Self.shortSeconds else { return wanted }
        let now = world.uptimeMilliseconds
        let user = Holder(user: operation.user, container: container)
        let device = Holder(
            user: operation.user, container: container, device: operation.device)
        let bytes = Double(operation.storedBytes + count)
        return left.withLock { left in
            var ofDevice = left.ofDevices[device] ?? TokenBucket(atMilliseconds: now)
            var ofUser = left.ofUsers[user] ?? TokenBucket(atMilliseconds: now)
            ofDevice.fill(deviceRate, atMilliseconds: now)
            ofUser.fill(userRate, atMilliseconds: now)
            let hasRoom = ofDevice.tokens >= bytes && ofUser.tokens >= bytes
            if hasRoom {
                ofDevice.take(bytes, debtLimit: 0)
                ofUser.take(bytes, debtLimit: 0)
            }
            left.ofDevices[device] = ofDevice
            left.ofUsers[user] = ofUser
            return hasRoom ? wanted : Self.shortSeconds
        }
    }
}

extension OperationKey {
    /// About how many bytes a stored outcome has besides what is kept: the key is in the row and in an index.
    fileprivate var storedBytes: Int {
        2 * (user.utf8.count + device.utf8.count + operation.utf8.count) + 64
    }
}

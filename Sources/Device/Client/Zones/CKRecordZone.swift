import Foundation
import StratusRecords
import StratusWire
import Synchronization

/// A zone of a database: the unit of atomic saves, of change feeds and of sharing.
///
/// ```swift
/// let trips = CKRecordZone(zoneName: "Trips")
/// try await container.privateCloudDatabase.save(trips)
/// let trail = CKRecord(recordType: "Trail", recordID: CKRecord.ID(zoneID: trips.zoneID))
/// ```
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The ID of a zone; see ``CKRecordZoneID``.
    public typealias ID = CKRecordZoneID

    /// The capabilities of a zone; known only for zones that were saved or fetched.
    public struct Capabilities: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The changes since a token can be fetched; the default zone cannot do that.
        public static let fetchChanges = Self(rawValue: 1 << 0)
        /// Records can be saved together or not at all.
        public static let atomic = Self(rawValue: 1 << 1)
        /// Hierarchies of records can be shared.
        public static let sharing = Self(rawValue: 1 << 2)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Self(rawValue: 1 << 3)
    }

    /// How much a key of the zone's encrypted values covers.
    public enum EncryptionScope: Int, Sendable {
        /// Hierarchies of the zone can be shared separately.
        case perRecord = 0
        /// The zone can be shared only as a whole, so that the key in its link decrypts nothing
        /// that is not shared.
        case perZone = 1
    }

    /// The ID of the zone: its name and its owner.
    public let zoneID: CKRecordZone.ID

    private let scope: Mutex<EncryptionScope>

    /// The scope, `.perRecord` unless set before the zone is saved for the first time.
    ///
    /// It cannot be changed later: saving a zone of this name with another scope fails with
    /// `CKError.serverRejectedRequest`. Zones of scope `.perZone` do not have the capability
    /// `.sharing`. Source: Apple's page `encryptionScope`; for the encryption see decision 10.
    public var encryptionScope: EncryptionScope {
        get { scope.withLock { $0 } }
        set { scope.withLock { $0 = newValue } }
    }

    /// The capabilities; empty for a zone that was created locally.
    public let capabilities: Capabilities

    /// The share of the whole zone; only for zones that were fetched.
    public let share: CKRecord.Reference?

    /// The default zone, which every public and private database has and which cannot be deleted.
    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    /// Makes a zone of the user, to be saved.
    ///
    /// - Parameter zoneName: 1 to 255 ASCII characters without a leading underscore; another name
    ///   is refused when the zone is saved.
    /// - Precondition: the name is not empty.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZoneID(zoneName: zoneName))
    }

    /// Makes a zone with an ID, without the capabilities that a fetched zone has.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [])
    }

    init(
        zoneID: CKRecordZone.ID, capabilities: Capabilities, share: CKRecord.Reference? = nil,
        encryptionScope: EncryptionScope = .perRecord
    ) {
        self.zoneID = zoneID
        scope = Mutex(encryptionScope)
        self.share = share
        self.capabilities = capabilities
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZone).map { $0.zoneID == zoneID } ?? false
    }

    public override var hash: Int { zoneID.hash }

    public override var description: String { "<CKRecordZone: \(zoneID)>" }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(
            zoneID: zoneID, capabilities: capabilities, share: share,
            encryptionScope: encryptionScope)
    }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(zoneID, "zoneID")
        coder.encode(Int64(truncatingIfNeeded: capabilities.rawValue), forKey: "capabilities")
        coder.archive(share, "share")
        coder.encode(Int64(encryptionScope.rawValue), forKey: "encryptionScope")
    }

    public init?(coder: NSCoder) {
        guard let zoneID = coder.archivedObject(CKRecordZoneID.self, "zoneID") else { return nil }
        self.zoneID = zoneID
        share = coder.archivedObject(CKReference.self, "share")
        let scope = Int(exactly: coder.decodeInt64(forKey: "encryptionScope"))
        self.scope = Mutex(scope.flatMap { EncryptionScope(rawValue: $0) } ?? .perRecord)
        capabilities = Capabilities(
            rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "capabilities")))
    }
}

extension CKRecordZone.EncryptionScope {
    init(_ word: ZoneEncryptionScope?) {
        self = word == .perZone ? .perZone : .perRecord
    }

    /// The scope in the protocol's form; nil for `.perRecord`, which requests leave out.
    var word: ZoneEncryptionScope? { self == .perZone ? .perZone : nil }
}

/// The older name of ``CKRecordZone/Capabilities``.
@available(*, deprecated, renamed: "CKRecordZone.Capabilities")
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
/// The older name of ``CKRecordZoneID/defaultZoneName``.
@available(*, deprecated, renamed: "CKRecordZone.ID.defaultZoneName")
public let CKRecordZoneDefaultName = CKRecordZoneID.defaultZoneName

import StratusClient
import StratusRecords
import StratusSync

extension CKSyncEngine {
    /// Who requested a sync.
    public enum SyncReason: Hashable, Sendable, CustomStringConvertible {
        /// The engine itself.
        case scheduled
        /// The app, by ``fetchChanges(_:)`` or ``sendChanges(_:)``.
        case manual

        public var description: String {
            switch self {
            case .scheduled: "scheduled"
            case .manual: "manual"
            }
        }
    }

    /// What to fetch, and how.
    public struct FetchChangesOptions: Sendable {
        /// Which zones are fetched.
        public enum Scope: Equatable, Sendable {
            /// Every zone that has changes.
            case all
            /// Every zone that has changes, except for these.
            case allExcluding([CKRecordZone.ID])
            /// Only these zones. The database's changes, which name the zones, are fetched nevertheless.
            case zoneIDs([CKRecordZone.ID])

            /// Whether the changes of a zone are fetched.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }
        }

        /// The zones to fetch.
        public var scope: Scope
        /// The operation group of all requests of the fetch.
        public var operationGroup: CKOperationGroup
        /// Zones that are fetched before the others.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Makes options.
        ///
        /// - Parameter operationGroup: nil makes a new group without a name.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// What to send, and how.
    public struct SendChangesOptions: Sendable {
        /// Which changes are sent.
        public enum Scope: Equatable, Sendable {
            /// Every pending change.
            case all
            /// Every pending change, except for those in these zones.
            case allExcluding([CKRecordZone.ID])
            /// Only changes in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// Only changes of these records. Their zones are created or deleted first, if that is pending.
            case recordIDs([CKRecord.ID])

            /// Whether the change of a record is sent.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether a pending change is sent; use it to filter the state's changes for a batch.
            public func contains(_ change: PendingRecordZoneChange) -> Bool {
                contains(change.recordID)
            }

            /// Whether a zone is created or deleted: if its records would be sent.
            func contains(_ zone: ZoneID) -> Bool {
                let zoneID = CKRecordZone.ID(zone)
                return switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }
        }

        /// The changes to send.
        public var scope: Scope
        /// The operation group of all requests of the send.
        public var operationGroup: CKOperationGroup

        /// Makes options.
        ///
        /// - Parameter operationGroup: nil makes a new group without a name.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// Why and what the engine fetches.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine or the app requested the fetch.
        public let reason: SyncReason
        /// What is fetched: for a manual fetch, the options that the app passed.
        public let options: FetchChangesOptions

        public var description: String { "<FetchChangesContext: \(reason), \(options.scope)>" }
    }

    /// Why and what the engine sends.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// Whether the engine or the app requested the send.
        public let reason: SyncReason
        /// What is sent: for a manual send, the options that the app passed.
        public let options: SendChangesOptions

        public var description: String { "<SendChangesContext: \(reason), \(options.scope)>" }
    }
}

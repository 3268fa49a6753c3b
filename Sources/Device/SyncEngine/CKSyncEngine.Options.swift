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
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])

            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }
        }

        public var scope: Scope
        public var operationGroup: CKOperationGroup
        /// Zones that are fetched before the others.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// What to send, and how.
    public struct SendChangesOptions: Sendable {
        /// Which changes are sent.
        public enum Scope: Equatable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])
            case recordIDs([CKRecord.ID])

            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

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

        public var scope: Scope
        public var operationGroup: CKOperationGroup

        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// Why and what the engine fetches.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        public let reason: SyncReason
        public let options: FetchChangesOptions

        public var description: String { "<FetchChangesContext: \(reason), \(options.scope)>" }
    }

    /// Why and what the engine sends.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        public let reason: SyncReason
        public let options: SendChangesOptions

        public var description: String { "<SendChangesContext: \(reason), \(options.scope)>" }
    }
}

import Foundation
import Synchronization

/// How an operation goes about its work. `CKOperation.Configuration` in code.
///
/// A property that was never set gives way to the group's, then to the default.
public final class CKOperationConfiguration: NSObject, NSCopying, Sendable {
    struct Values: Sendable {
        var container: CKContainer?
        var qualityOfService: QualityOfService?
        var allowsCellularAccess: Bool?
        var isLongLived: Bool?
        var timeoutIntervalForRequest: TimeInterval?
        var timeoutIntervalForResource: TimeInterval?

        /// These values where they are set, else those of the other.
        func over(_ other: Values) -> Values {
            Values(
                container: container ?? other.container,
                qualityOfService: qualityOfService ?? other.qualityOfService,
                allowsCellularAccess: allowsCellularAccess ?? other.allowsCellularAccess,
                isLongLived: isLongLived ?? other.isLongLived,
                timeoutIntervalForRequest: timeoutIntervalForRequest
                    ?? other.timeoutIntervalForRequest,
                timeoutIntervalForResource: timeoutIntervalForResource
                    ?? other.timeoutIntervalForResource)
        }

        /// The seven days of Apple's documentation.
        static let resourceSeconds: TimeInterval = 604_800
        static let requestSeconds: TimeInterval = 60

        /// Seconds that an operation may take; nil is without limit.
        var resourceSeconds: TimeInterval? {
            switch timeoutIntervalForResource {
            // As with URLSession's, 0 sets nothing.
            case .some(let seconds) where seconds != 0: seconds < 0 ? nil : seconds
            default:
                switch qualityOfService {
                case .userInteractive, .userInitiated: nil
                default: Self.resourceSeconds
                }
            }
        }

        /// The pace of an operation that begins now.
        func pace(_ world: CloudConnection.World) -> RequestPace {
            let request = timeoutIntervalForRequest ?? 0
            return RequestPace(
                requestSeconds: request > 0 ? request : Self.requestSeconds,
                deadlineUptimeSeconds: resourceSeconds.map { world.uptimeSeconds() + $0 },
                retriesTransientErrors: qualityOfService == .utility
                    || qualityOfService == .background)
        }

        var taskPriority: TaskPriority {
            switch qualityOfService ?? .default {
            case .userInteractive, .userInitiated: .high
            case .utility: .utility
            case .background: .background
            default: .medium
            }
        }
    }

    private let state: Mutex<Values>

    public override convenience init() {
        self.init(Values())
    }

    init(_ values: Values) {
        state = Mutex(values)
    }

    var values: Values { state.withLock { $0 } }

    /// The operation's container; nil is `CKContainer.default()`.
    public var container: CKContainer? {
        get { values.container }
        set { state.withLock { $0.container = newValue } }
    }

    /// `.utility` and `.background` retry transient errors by themselves; the others tell them at
    /// once.
    public var qualityOfService: QualityOfService {
        get { values.qualityOfService ?? .default }
        set { state.withLock { $0.qualityOfService = newValue } }
    }

    /// Kept, without effect: Linux does not say which network is a cellular one.
    public var allowsCellularAccess: Bool {
        get { values.allowsCellularAccess ?? true }
        set { state.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Whether the operation is kept on the disk until its `completionBlock` has returned, so that a
    /// later process can go on with it.
    ///
    /// For the operations of a database, but `CKFetchWebAuthTokenOperation`; others are as if it
    /// were not set. There is no daemon on Linux: what a process leaves undone goes on when the app
    /// runs again, fetches the operation from its container and adds it to a queue. What had been
    /// applied is not applied again; what had ended calls its blocks from what was kept, for 24
    /// hours. Changing it later has no effect. Source: CKOperation.h.
    ///
    /// ```swift
    /// for operationID in try await container.allLongLivedOperationIDs() {
    ///     guard let operation = try await container.longLivedOperation(for: operationID) else { continue }
    ///     (operation as? CKModifyRecordsOperation)?.perRecordSaveBlock = { show($0, $1) }
    ///     container.add(operation)
    /// }
    /// ```
    public var isLongLived: Bool {
        get { values.isLongLived ?? false }
        set { state.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds that one request may take, and that the bytes of an asset may stand still; 60. After
    /// that it fails with `CKError.networkFailure`, whose cause is `URLError.timedOut`.
    public var timeoutIntervalForRequest: TimeInterval {
        get { values.timeoutIntervalForRequest ?? Values.requestSeconds }
        set { state.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds that the operation may take with all its requests and retries; -1 is without limit,
    /// and the default of what the user waits for, else a week. After that the operation fails with
    /// `CKError.networkFailure`, or with the last error that it met.
    public var timeoutIntervalForResource: TimeInterval {
        get { values.timeoutIntervalForResource ?? values.resourceSeconds ?? -1 }
        set { state.withLock { $0.timeoutIntervalForResource = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKOperationConfiguration(values)
    }
}

/// Settings that a container or database gives to operations which say nothing themselves.
struct OperationDefaults: Sendable {
    var configuration = CKOperationConfiguration.Values()
    var group: CKOperationGroup?
    /// See `CKDatabase.withoutAssetDownloads`.
    var downloadsAssets = true

    func overridden(
        configuration: CKOperationConfiguration?, group: CKOperationGroup?
    ) -> OperationDefaults {
        OperationDefaults(
            configuration: (configuration?.values ?? .init()).over(self.configuration),
            group: group ?? self.group, downloadsAssets: downloadsAssets)
    }

    /// What the convenience calls use: user-initiated, unless told otherwise.
    var convenience: CKOperationConfiguration.Values {
        configuration.over(group?.defaultValues ?? .init())
            .over(CKOperationConfiguration.Values(qualityOfService: .userInitiated))
    }

    /// The pace of a convenience call that begins now.
    func pace(_ world: CloudConnection.World) -> RequestPace {
        convenience.pace(world)
    }
}

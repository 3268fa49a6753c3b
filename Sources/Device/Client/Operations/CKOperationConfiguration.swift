import Foundation
import StratusRuntime
import Synchronization

/// The settings of an operation. `CKOperation.Configuration` in code.
///
/// A property that was never set has the group's value, else the default.
public final class CKOperationConfiguration: NSObject, NSCopying, Sendable {
    struct Values: Sendable {
        var container: CKContainer?
        var qualityOfService: QualityOfService?
        var allowsCellularAccess: Bool?
        var isLongLived: Bool?
        var timeoutIntervalForRequest: TimeInterval?
        var timeoutIntervalForResource: TimeInterval?

        /// These values if they are set, otherwise those of `other`.
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
        /// The minute of Apple's documentation.
        static let requestSeconds: TimeInterval = 60

        /// Seconds that an operation may take; nil means no limit.
        var resourceSeconds: TimeInterval? {
            switch timeoutIntervalForResource {
            // As in URLSession, 0 sets nothing.
            case .some(let seconds) where seconds != 0: seconds < 0 ? nil : seconds
            default:
                switch qualityOfService {
                case .userInteractive, .userInitiated: nil
                default: Self.resourceSeconds
                }
            }
        }

        /// The time limits and retries of an operation that begins now.
        func pace(_ world: World) -> RequestPace {
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

    /// The operation's container; nil means `CKContainer.default()`.
    public var container: CKContainer? {
        get { values.container }
        set { state.withLock { $0.container = newValue } }
    }

    /// With `.utility` and `.background` the operation retries transient errors; otherwise it fails
    /// with them at once.
    public var qualityOfService: QualityOfService {
        get { values.qualityOfService ?? .default }
        set { state.withLock { $0.qualityOfService = newValue } }
    }

    /// Has no effect: Linux does not report which network is cellular.
    public var allowsCellularAccess: Bool {
        get { values.allowsCellularAccess ?? true }
        set { state.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Whether the operation is stored on the disk until its `completionBlock` has returned, so
    /// that a later process can continue it.
    ///
    /// It applies to database operations except `CKFetchWebAuthTokenOperation`; other operations
    /// ignore it. There is no daemon on Linux: an unfinished operation continues when the app runs
    /// again, fetches it from its container and adds it to a queue. Changes that were applied are
    /// not applied again; for 24 hours, an operation that had ended calls its blocks with the
    /// stored outcome. Changing the property later has no effect. Source: CKOperation.h.
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

    /// Seconds that one request may take, and that the transfer of an asset may stall; 60 by default. After that it
    /// fails with `CKError.networkFailure`, whose cause is `URLError.timedOut`.
    public var timeoutIntervalForRequest: TimeInterval {
        get { values.timeoutIntervalForRequest ?? Values.requestSeconds }
        set { state.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds that the operation may take with all its requests and retries; -1 means no limit,
    /// which is the default for work that the user waits for; for other work it is a week. After
    /// that the operation fails with `CKError.networkFailure`, or with the last error of a request.
    public var timeoutIntervalForResource: TimeInterval {
        get { values.timeoutIntervalForResource ?? values.resourceSeconds ?? -1 }
        set { state.withLock { $0.timeoutIntervalForResource = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKOperationConfiguration(values)
    }
}

/// The settings of a container or database for operations without settings of their own.
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

    /// The settings of the convenience calls: user-initiated unless set otherwise.
    var convenience: CKOperationConfiguration.Values {
        configuration.over(group?.defaultValues ?? .init())
            .over(CKOperationConfiguration.Values(qualityOfService: .userInitiated))
    }

    /// The time limits and retries of a convenience call that begins now.
    func pace(_ world: World) -> RequestPace {
        convenience.pace(world)
    }
}

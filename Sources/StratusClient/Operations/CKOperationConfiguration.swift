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

        var pace: RequestPace {
            let service = qualityOfService ?? .default
            let isImmediate = service == .userInteractive || service == .userInitiated
            let resource =
                timeoutIntervalForResource ?? (isImmediate ? -1 : Self.resourceSeconds)
            return RequestPace(
                requestSeconds: timeoutIntervalForRequest ?? 60,
                resourceSeconds: resource < 0 ? nil : resource,
                retriesTransientErrors: service == .utility || service == .background)
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

    /// Kept, without effect: this framework does not know which network it uses.
    public var allowsCellularAccess: Bool {
        get { values.allowsCellularAccess ?? true }
        set { state.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Kept, without effect: operations end with their process.
    public var isLongLived: Bool {
        get { values.isLongLived ?? false }
        set { state.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds that one request may take; 60.
    public var timeoutIntervalForRequest: TimeInterval {
        get { values.timeoutIntervalForRequest ?? 60 }
        set { state.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds that the operation may take with all repetitions; -1 is without limit.
    public var timeoutIntervalForResource: TimeInterval {
        get { values.timeoutIntervalForResource ?? values.pace.resourceSeconds ?? -1 }
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
}

import StratusRecords
import StratusStorage

extension Limits {
    /// The default limits, except those that a test changes.
    package static func with(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits()
        change(&limits)
        return limits
    }
}

extension StorageLimits {
    /// The default limits, except those that a test changes.
    package static func with(_ change: (inout StorageLimits) -> Void) -> StorageLimits {
        var limits = StorageLimits()
        change(&limits)
        return limits
    }
}

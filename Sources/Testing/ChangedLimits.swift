import StratusRecords
import StratusStorage

extension Limits {
    /// The usual limits but for those that a test is about.
    package static func with(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits()
        change(&limits)
        return limits
    }
}

extension StorageLimits {
    /// The usual limits but for those that a test is about.
    package static func with(_ change: (inout StorageLimits) -> Void) -> StorageLimits {
        var limits = StorageLimits()
        change(&limits)
        return limits
    }
}

import StratusRecords

/// The last edit wins; fields that the later device did not change keep the earlier device's
/// values.
///
/// With an edit-date field (a date, or a number of milliseconds or edits) the greater value wins,
/// and a record with the field wins over one without. If neither has it, the time of the local edit
/// is compared with the service's modification date, which is later than the edit itself: devices
/// that edit offline need the field. At equal values the service's record wins, so that all devices
/// agree. The result depends on the devices' clocks.
public struct LatestEditWins: ConflictResolver {
    /// The name of the edit-date field; nil if there is none.
    public var editDateKey: String?

    /// Makes a resolver.
    ///
    /// - Parameter editDateKey: the edit-date field, which the app sets with every edit; nil compares the times that
    ///   the device and the service noted.
    public init(editDateKey: String? = "editedAt") {
        self.editDateKey = editDateKey
    }

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        let client = editDateKey.flatMap { Self.order(of: conflict.client[$0]) }
        let server = editDateKey.flatMap { Self.order(of: conflict.server[$0]) }
        switch (client, server) {
        case (let client?, let server?): return client > server ? .keepClient : .keepServer
        case (.some, nil): return .keepClient
        case (nil, .some): return .keepServer
        case (nil, nil):
            let modified = conflict.server.system?.modifiedMilliseconds ?? .min
            return conflict.clientEditedMilliseconds > modified ? .keepClient : .keepServer
        }
    }

    private static func order(of value: FieldValue?) -> Double? {
        switch value {
        case .timestamp(let milliseconds, _): Double(milliseconds)
        case .int64(let number): Double(number)
        case .double(let number): number.isNaN ? nil : number
        default: nil
        }
    }
}

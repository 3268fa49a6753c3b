import StratusRecords

/// A notification's hint that something changed in a database, and perhaps in which zone.
package struct ChangeHint: Hashable, Sendable {
    /// The zone; nil if the notification names none.
    package var zone: ZoneID?

    package init(zone: ZoneID?) { self.zone = zone }
}

extension CKDatabase {
    /// The hint that a notification has for this database; nil when it is about another one.
    package func hint(of notification: CKNotification) -> ChangeHint? {
        switch notification {
        case let hint as CKDatabaseNotification where hint.databaseScope == databaseScope:
            ChangeHint(zone: nil)
        case let hint as CKRecordZoneNotification where hint.databaseScope == databaseScope:
            ChangeHint(zone: hint.recordZoneID.map { ZoneID($0) })
        case let hint as CKQueryNotification where hint.databaseScope == databaseScope:
            ChangeHint(zone: hint.recordID.map { ZoneID($0.zoneID) })
        default: nil
        }
    }
}

import StratusRecords

/// What a notification says of a database: that something changed, and perhaps where.
package struct ChangeHint: Hashable, Sendable {
    /// Nil where the notification names no zone.
    package var zone: ZoneID?

    package init(zone: ZoneID?) { self.zone = zone }
}

extension CKDatabase {
    /// What a notification says of this database; nil when it is about another.
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

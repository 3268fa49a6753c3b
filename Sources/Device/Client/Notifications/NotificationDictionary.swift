import Foundation

/// The dictionary of a delivered notification.
struct NotificationDictionary {
    enum Kind: String, CaseIterable {
        case query = "qry"
        case recordZone = "fet"
        case database = "met"

        var type: CKNotification.NotificationType {
            switch self {
            case .query: .query
            case .recordZone: .recordZone
            case .database: .database
            }
        }
    }

    let kind: Kind
    let cloud: [String: Any]
    /// The dictionary under the key of the kind.
    let detail: [String: Any]
    let aps: [String: Any]
    let alert: [String: Any]

    /// - Returns: nil without a `ck` dictionary that names one of the kinds.
    init?(_ dictionary: [AnyHashable: Any]) {
        guard let cloud = dictionary["ck"] as? [String: Any],
            let kind = Kind.allCases.first(where: { cloud[$0.rawValue] is [String: Any] })
        else { return nil }
        self.kind = kind
        self.cloud = cloud
        detail = cloud[kind.rawValue] as? [String: Any] ?? [:]
        aps = dictionary["aps"] as? [String: Any] ?? [:]
        if let text = aps["alert"] as? String {
            alert = ["body": text]
        } else {
            alert = aps["alert"] as? [String: Any] ?? [:]
        }
    }

    var notification: CKNotification {
        switch kind {
        case .query: CKQueryNotification(self)
        case .recordZone: CKRecordZoneNotification(self)
        case .database: CKDatabaseNotification(self)
        }
    }

    var identifier: String? { text("nid") }

    func text(_ key: String) -> String? { cloud[key] as? String }
    func detailText(_ key: String) -> String? { detail[key] as? String }
    func alertText(_ key: String) -> String? { alert[key] as? String }

    func detailNumber(_ key: String) -> Int? {
        detail[key] as? Int ?? (detail[key] as? NSNumber)?.intValue
    }

    /// The database; a missing or unknown scope counts as private.
    var scope: CKDatabase.Scope {
        detailNumber("dbs").flatMap(CKDatabase.Scope.init) ?? .private
    }

    var zoneID: CKRecordZone.ID? {
        detailText("zid").map { name in
            let owner = scope == .shared ? detailText("zoid") : nil
            return CKRecordZoneID(known: name, ownerName: owner ?? CKCurrentUserDefaultName)
        }
    }
}

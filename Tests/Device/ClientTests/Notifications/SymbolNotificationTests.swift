import Foundation
import StratusClient
import Testing

/// What subscriptions request and notifications report, property by property.
@Suite struct SymbolNotificationTests {
    private func everything() -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "body", alertLocalizationKey: "alert", alertLocalizationArgs: ["name"],
            title: "title", titleLocalizationKey: "titleKey", titleLocalizationArgs: ["region"],
            subtitle: "subtitle", subtitleLocalizationKey: "subtitleKey",
            subtitleLocalizationArgs: ["beds"], alertActionLocalizationKey: "action",
            alertLaunchImage: "image", soundName: "sound", desiredKeys: ["name"],
            shouldBadge: true, shouldSendContentAvailable: true, shouldSendMutableContent: true,
            category: "category", collapseIDKey: "collapse")
    }

    private func expectEverything(_ info: CKSubscription.NotificationInfo) {
        #expect(info.alertBody == "body" && info.alertLocalizationKey == "alert")
        #expect(info.alertLocalizationArgs == ["name"] && info.title == "title")
        #expect(info.titleLocalizationKey == "titleKey")
        #expect(info.titleLocalizationArgs == ["region"] && info.subtitle == "subtitle")
        #expect(info.subtitleLocalizationKey == "subtitleKey")
        #expect(info.subtitleLocalizationArgs == ["beds"])
        #expect(info.alertActionLocalizationKey == "action")
        #expect(info.alertLaunchImage == "image" && info.soundName == "sound")
        #expect(info.desiredKeys == ["name"] && info.shouldBadge)
        #expect(info.shouldSendContentAvailable && info.shouldSendMutableContent)
        #expect(info.category == "category" && info.collapseIDKey == "collapse")
    }

    @Test func notificationInfoKeepsEveryProperty() throws {
        let subscription = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(value: true), subscriptionID: "huts",
            options: [.firesOnRecordCreation])
        subscription.notificationInfo = everything()
        expectEverything(try #require(subscription.notificationInfo))
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: everything(), requiringSecureCoding: true)
        expectEverything(
            try #require(
                try NSKeyedUnarchiver.unarchivedObject(
                    ofClass: CKSubscription.NotificationInfo.self, from: data)))
    }

    @Test func archivedZoneAndDatabaseSubscriptionsRoundTrip() throws {
        let zone = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "zone")
        zone.recordType = "Hut"
        let subscriptionID: CKSubscription.ID = zone.subscriptionID
        #expect(subscriptionID == "zone" && zone.subscriptionType == .recordZone)
        let database = CKDatabaseSubscription()
        #expect(!database.subscriptionID.isEmpty && database.subscriptionType == .database)
        #expect(CKDatabaseSubscription().subscriptionID != database.subscriptionID)
        let zoneAgain = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKRecordZoneSubscription.self,
            from: NSKeyedArchiver.archivedData(withRootObject: zone, requiringSecureCoding: true))
        #expect(zoneAgain?.zoneID == trips && zoneAgain?.recordType == "Hut")
        let databaseAgain = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKDatabaseSubscription.self,
            from: NSKeyedArchiver.archivedData(
                withRootObject: database, requiringSecureCoding: true))
        #expect(databaseAgain?.subscriptionID == database.subscriptionID)
    }

    @Test func notificationExposesEveryAlertProperty() throws {
        let alert: [String: Any] = [
            "body": "b", "loc-key": "lk", "loc-args": ["la"], "title": "t",
            "title-loc-key": "tk", "title-loc-args": ["ta"], "subtitle": "s",
            "subtitle-loc-key": "sk", "subtitle-loc-args": ["sa"], "action-loc-key": "ak",
            "launch-image": "li",
        ]
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: [
                "aps": ["alert": alert, "badge": 2, "sound": "so", "category": "c"]
                    as [String: Any],
                "ck": [
                    "cid": "iCloud.x", "nid": "n",
                    "fet": ["sid": "s", "zid": "Trips", "dbs": 2] as [String: Any],
                ] as [String: Any],
            ]))
        #expect(notification.notificationType == .recordZone)
        #expect(notification.alertBody == "b" && notification.alertLocalizationKey == "lk")
        #expect(notification.alertLocalizationArgs == ["la"] && notification.title == "t")
        #expect(notification.titleLocalizationKey == "tk")
        #expect(notification.titleLocalizationArgs == ["ta"] && notification.subtitle == "s")
        #expect(notification.subtitleLocalizationKey == "sk")
        #expect(notification.subtitleLocalizationArgs == ["sa"])
        #expect(notification.alertActionLocalizationKey == "ak")
        #expect(notification.alertLaunchImage == "li" && notification.badge == 2)
        #expect(notification.soundName == "so" && notification.category == "c")
    }
}

// swift-format-ignore-file: NeverForceUnwrap
// The guides force-unwrap in this way, and the programs follow their style.

import CloudKit

@available(*, deprecated, message: "In the manner of Swift 3.")
class TasksAppDelegate: UIApplicationDelegate {
    var window: UIWindow?

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplicationLaunchOptionsKey: Any]?
    ) -> Bool {
        application.registerForRemoteNotifications()
        return true
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        print("received notification")
        guard let viewController = self.window?.rootViewController as? TasksViewController else {
            return
        }
        let dict = userInfo as! [String: NSObject]
        guard
            let notification: CKDatabaseNotification = CKNotification(
                fromRemoteNotificationDictionary: dict) as? CKDatabaseNotification
        else { return }
        viewController.fetchChanges(in: notification.databaseScope) {
            completionHandler(.newData)
        }
    }
}

struct TasksProgram: ProgramMaking {
    @available(*, deprecated)
    func make() -> Program {
        return TasksScreen()
    }
}

/// The screen of the tasks: `start`, `register`, `add NAME TITLE`, `edit NAME TITLE`,
/// `remove NAME`, `fill COUNT`, `sync`, `clear` (deletes the zone), `rows`.
@available(*, deprecated, message: "In the manner of Swift 3.")
private class TasksScreen: Program {
    private let controller = TasksViewController()
    private let application: UIApplication

    init() {
        let delegate = TasksAppDelegate()
        delegate.window = UIWindow()
        delegate.window?.rootViewController = controller
        application = UIApplication(delegate: delegate)
    }

    func tap(_ words: [String]) {
        let title = words.dropFirst(2).joined(separator: " ")
        switch words.first {
        case "start": controller.setUp { say("started") }
        case "register":
            _ = application.delegate.application(
                application, didFinishLaunchingWithOptions: nil)
            say("registered")
        case "add": save([made(words[1], title)])
        case "fill": save((0..<Int(words[1])!).map { made("many\($0)", "of many") })
        case "edit": edit(recordID(words[1]), title)
        case "remove": modify([], [recordID(words[1])])
        case "sync": controller.fetchChanges(in: .private) { say("synced") }
        case "clear": clear()
        case "rows": say("rows \(controller.rows.count)")
        default: say("unknown")
        }
    }

    private func recordID(_ name: String) -> CKRecordID {
        return CKRecordID(recordName: name, zoneID: controller.zoneID)
    }

    private func made(_ name: String, _ title: String) -> CKRecord {
        let record = CKRecord(recordType: "Task", recordID: recordID(name))
        record["title"] = title as NSString
        return record
    }

    private func edit(_ recordID: CKRecordID, _ title: String) {
        guard let row = controller.rows[recordID], let record = controller.record(of: row) else {
            say("failed without a row")
            return
        }
        record["title"] = title as NSString
        save([record])
    }

    private func save(_ records: [CKRecord]) {
        modify(records, [])
    }

    private func modify(_ records: [CKRecord], _ recordIDs: [CKRecordID]) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: records, recordIDsToDelete: recordIDs)
        operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            for record in saved ?? [] { self.controller.keep(record) }
            for recordID in deleted ?? [] { self.controller.rows[recordID] = nil }
            say(error.map { "failed \($0)" } ?? "done \(records.count) \(recordIDs.count)")
        }
        operation.qualityOfService = .userInitiated
        controller.privateDB.add(operation)
    }

    private func clear() {
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: [], recordZoneIDsToDelete: [controller.zoneID])
        operation.modifyRecordZonesCompletionBlock = { saved, deleted, error in
            say(error.map { "failed \($0)" } ?? "cleared")
        }
        operation.qualityOfService = .userInitiated
        controller.privateDB.add(operation)
    }
}

// swift-format-ignore-file: NeverForceUnwrap
// The guides force-unwrap in this way, and the programs follow their style.

import CloudKit

@available(*, deprecated, message: "In the manner of Swift 3.")
class MemoAppDelegate: UIApplicationDelegate {
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
        let dict = userInfo as! [String: NSObject]
        let notification = CKNotification(fromRemoteNotificationDictionary: dict)
        let cloud = MemoCloud.shared
        if notification.subscriptionID == cloud.subscriptionID {
            cloud.fetchChanges()
            completionHandler(.newData)
        } else {
            completionHandler(.noData)
        }
    }
}

struct MemoProgram: ProgramMaking {
    @available(*, deprecated)
    func make() -> Program {
        return MemoScreen()
    }
}

/// The screen of the memo: `load`, `save SECONDS TEXT`, `register` (for notifications),
/// `subscribed` (waits until the subscription is saved).
@available(*, deprecated, message: "In the manner of Swift 3.")
private class MemoScreen: Program, MemoDelegate {
    private let memo = Memo()
    private let application = UIApplication(delegate: MemoAppDelegate())

    init() {
        memo.delegate = self
    }

    func memoChanged(memo: Memo) {
        say("changed \(shown(memo.text, memo.modified))")
    }

    func tap(_ words: [String]) {
        switch words.first {
        case "load":
            memo.load { text, modified, error in
                say(error.map { "failed \($0)" } ?? "loaded \(self.shown(text, modified))")
            }
        case "save":
            let modified = Date(timeIntervalSince1970: Double(words[1])!)
            memo.save(text: words.dropFirst(2).joined(separator: " "), modified: modified) {
                error in
                say(
                    error.map { "failed \($0)" }
                        ?? "saved \(self.shown(self.memo.text, self.memo.modified))")
            }
        case "subscribed":
            while !UserDefaults.standard.bool(forKey: MemoCloud.shared.subscriptionSavedKey) {
                usleep(1_000)
            }
            say("subscribed")
        case "register":
            _ = application.delegate.application(
                application, didFinishLaunchingWithOptions: nil)
            say("registered")
        default:
            say("unknown")
        }
    }

    private func shown(_ text: String?, _ modified: Date?) -> String {
        return "\(Int(modified?.timeIntervalSince1970 ?? -1)) \(text ?? "-")"
    }
}

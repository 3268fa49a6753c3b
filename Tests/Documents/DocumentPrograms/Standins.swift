import CloudKit

// The small part of UIKit that the programs use.

typealias UIBackgroundFetchResult = RemoteNotificationResult

struct UIApplicationLaunchOptionsKey: Hashable {}

/// The methods that the system calls in an app.
protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplicationLaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
}

/// The app as the system sees it: it listens for notifications and passes them to the delegate.
final class UIApplication {
    let delegate: UIApplicationDelegate

    init(delegate: UIApplicationDelegate) {
        self.delegate = delegate
    }

    /// Returns when the service knows of this device.
    func registerForRemoteNotifications() {
        let listening = DispatchSemaphore(value: 0)
        let container = CKContainer.default()
        Task {
            await container.connection.deliverRemoteNotifications(
                container: container.containerIdentifier ?? "",
                whenListening: { listening.signal() },
                didReceiveRemoteNotification: { userInfo, fetchCompletionHandler in
                    self.delegate.application(
                        self, didReceiveRemoteNotification: userInfo
                    ) { result in
                        say("push \(result)")
                        fetchCompletionHandler(result)
                    }
                })
        }
        listening.wait()
    }
}

class UIWindow {
    var rootViewController: UIViewController?
}

class UIViewController {}

/// Shows a line to the user, or to the test.
func say(_ line: String) {
    print(line)
    fflush(stdout)
}

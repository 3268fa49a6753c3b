import CloudKit

extension NoteController {
    /// Handles a push: if it is for our subscription, fetches what changed. Returns what happened.
    ///
    /// The system calls this in an app of Apple's platforms
    /// (`application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`).
    public nonisolated func didReceiveRemoteNotification(
        _ userInfo: [AnyHashable: Any]
    ) async -> RemoteNotificationResult {
        let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
        guard notification?.subscriptionID == CloudKitNoteDatabase.subscriptionID else {
            return .noData
        }
        return await fetchAfterPush()
    }

    private func fetchAfterPush() async -> RemoteNotificationResult {
        let former = await note.receivedCount
        await sync()
        guard status.error == nil, !isOffline else { return .failed }
        return await note.receivedCount == former ? .noData : .newData
    }

    /// Does what Apple's system does for an app: delivers pushes until the task is cancelled, and fetches once
    /// whenever the service can be reached again.
    public nonisolated func listen() async {
        let container = container
        await container.connection.deliverRemoteNotifications(
            container: container.containerIdentifier ?? "",
            whenListening: { await self.sync() },
            to: { await self.didReceiveRemoteNotification($0.userInfo) })
    }
}

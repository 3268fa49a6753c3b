import StratusClient

extension CloudMapping {
    /// Subscribes this device to changes. It needs to be called once, not at every start.
    ///
    /// ```swift
    /// try await mapping.subscribe()
    /// for await case .notification(let hint) in connection.remoteNotifications(container: app) {
    ///     try await mapping.handle(remoteNotification: hint.userInfo)
    /// }
    /// ```
    public func subscribe() async throws {
        try await prepare()
        try await source.subscribe(types: types.map { $0.recordTypeName })
    }

    /// Handles a push notification: syncs the objects that it is about, so that the store gets the
    /// new, updated and deleted ones.
    ///
    /// - Returns: whether it was about this mapping's objects.
    /// - Throws: as ``syncEntities(specific:forced:)``.
    @discardableResult
    public func handle(_ notification: CKNotification) async throws -> Bool {
        let (isOurs, recordType) = await source.isAbout(notification)
        guard isOurs else { return false }
        log.debug("notified", metadata: ["type": "\(recordType ?? "all")"])
        try await syncEntities(specific: recordType.flatMap { entityType(named: $0) }.map { [$0] })
        return true
    }

    /// Handles the dictionary of a push notification; see ``handle(_:)``.
    @discardableResult
    public func handle(remoteNotification userInfo: [AnyHashable: Any]) async throws -> Bool {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else {
            return false
        }
        return try await handle(notification)
    }
}

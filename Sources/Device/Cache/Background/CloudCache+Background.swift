import StratusClient
import StratusRuntime
import StratusSync

/// The result of handling a notification, in the terms of the system's fetch result.
public enum BackgroundResult: String, Hashable, Sendable {
    /// The service had something new, which is on this device now.
    case newData
    /// The service had nothing new, or the notification is about another database.
    case noData
    /// The service could not be reached in time, or refused; nothing is lost.
    case failed
}

/// Syncing when the system wakes the app: within a time limit, and with the kind of result that the system expects.
extension CloudCache {
    /// Handles a notification that the app received: fetches what it is about, and returns the result.
    ///
    /// ```swift
    /// func application(
    ///     _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    /// ) async -> UIBackgroundFetchResult {
    ///     guard let note = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return .noData }
    ///     switch await cache.handle(note) {
    ///     case .newData: return .newData
    ///     case .noData: return .noData
    ///     case .failed: return .failed
    ///     }
    /// }
    /// ```
    ///
    /// Works with and without a running loop. An app without one passes the time that the system gives it.
    ///
    /// - Parameters:
    ///   - notification: the notification that the app received.
    ///   - seconds: how long it may take; Apple's systems give 30.
    @discardableResult
    public func handle(
        _ notification: CKNotification, within seconds: Double = 25
    ) async -> BackgroundResult {
        guard isAbout(notification) else { return .noData }
        let before = await fetchedCount()
        for database in databases {
            guard let hint = database.driver.remote.hint(of: notification) else { continue }
            await database.driver.receive(hint)
        }
        do {
            try await sync(within: seconds)
        } catch {
            // The caller gets `failed`, or `newData` if part of the changes arrived before the
            // error.
            return await fetchedCount() == before ? .failed : .newData
        }
        return await fetchedCount() == before ? .noData : .newData
    }

    /// Whether a notification is about one of the cache's databases.
    public func isAbout(_ notification: CKNotification) -> Bool {
        databases.contains { $0.driver.remote.hint(of: notification) != nil }
    }

    /// Syncs now, for a bounded time: in a background task, or before the app is suspended.
    ///
    /// When the time is over, an unfinished operation is cancelled unless the loop runs, and repeated later.
    ///
    /// - Parameter seconds: how long it may take.
    /// - Throws: ``CacheError`` `timedOut`, and what ``sync()`` throws. Nothing is lost by any of them.
    public func sync(within seconds: Double) async throws {
        let late = CacheError(
            .timedOut,
            "Not everything was synced within \(seconds) s; nothing is lost. Sync again later.")
        do {
            try migrateRecords()
            try await world.withTimeout(seconds: seconds, throwing: late) { [databases] in
                try await databases.sync()
            }
        } catch let error as CacheError where error.code == .timedOut {
            for database in databases { await database.turn.rest() }
            throw error
        } catch {
            throw CacheError.passing(error) ?? error
        }
    }

    private func fetchedCount() async -> Int {
        var count = foreignCount.withLock { $0 }
        for database in databases { count += await database.driver.fetchedCount }
        return count
    }
}

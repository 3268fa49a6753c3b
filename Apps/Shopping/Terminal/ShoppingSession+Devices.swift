import AppDevice
import Foundation
import ShoppingCore
import StratusCache

/// Syncing with the user's other devices, on or off.
extension ShoppingSession {
    func requireAccount() throws {
        if let reason = account.localOnlyReason { throw CannotDo(reason) }
    }

    func goOffline() async throws -> String {
        try requireAccount()
        isOnline = false
        await store.setOnline(false)
        return "Offline: changes wait on this device. Type online to connect again."
    }

    func goOnline() async throws -> String {
        try requireAccount()
        isOnline = true
        await store.setOnline(true)
        await store.start()
        return "Online."
    }

    func syncNow() async throws -> String {
        try requireAccount()
        guard isOnline else { throw CannotDo("You are offline; type online first.") }
        do {
            try await store.sync()
        } catch let error as CacheError {
            throw CannotDo("Not synced. \(error)")
        }
        await openOnlyListUnlessOpen()
        let refused = try await store.status().attentionCount
        guard refused == 0 else {
            return
                "Not synced: the service refused \(refused == 1 ? "1 change" : "\(refused) changes"); "
                + "type refused."
        }
        return "In step with the service."
    }

    private func openOnlyListUnlessOpen() async {
        if let wantedTitle { _ = await openOrAwait(wantedTitle) }
        if openListID == nil { await openOnlyList() }
    }

    static let newerAppSentence =
        "Someone uses a newer version of this app, and not all of their changes are shown here; update it."

    func status() async throws -> String {
        let status = try await store.status()
        var lines: [String] = []
        if let reason = account.localOnlyReason {
            lines.append(reason)
        } else {
            lines.append("\(status.summary).")
            lines.append("Changes waiting to be sent: \(status.pendingCount)")
            if status.attentionCount > 0 {
                lines.append("Changes the service refused: \(status.attentionCount)")
            }
            lines.append("Service: \(account.serviceURL ?? "")")
        }
        lines.append(
            account.author == Account.unnamed
                ? "This device is called \(deviceName)."
                : "You are \(account.author) on \(deviceName).")
        if await store.needsNewerApp { lines.append(Self.newerAppSentence) }
        if let formerListsNotice { lines.append(formerListsNotice) }
        if let halt = status.haltReason { lines.append(halt.summary) }
        if let failure = status.lastFailure {
            lines.append("Last trouble: \(failure.message)")
        }
        if let fetched = status.lastFetchMilliseconds {
            let seconds = Date().timeIntervalSince1970 - Double(fetched) / 1_000
            lines.append("Last looked for changes \(Int(max(0, seconds))) s ago.")
        }
        return lines.joined(separator: "\n")
    }
}

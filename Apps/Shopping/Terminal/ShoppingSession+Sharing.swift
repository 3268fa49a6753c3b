import Foundation
import ShoppingCore
import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

extension ShoppingSession {
    /// Runs the commands other than those for the list and its items.
    func answerFurther(to command: Command) async throws -> String {
        switch command {
        case .share: return try await share()
        case .people: return try await people()
        case .leave: return try await leave()
        case .stop: return try await stopSharing()
        case .approve: return try await answerRequests(approving: true)
        case .deny: return try await answerRequests(approving: false)
        case .invite(let text): return try await invite(text)
        case .link(let text): return try await setLink(text)
        case .dismiss(let text): return try await dismiss(text)
        case .join(let text): return try await join(text)
        case .ask(let text): return try await askToJoin(text)
        case .delete(let title): return try await delete(title)
        case .activity: return try await showActivity()
        case .undo(let text): return try await undo(text)
        case .history(let product): return try await history(of: product)
        case .refused: return try await showRefused()
        case .retry: return try await resolveRefused(retrying: true)
        case .giveUp: return try await resolveRefused(retrying: false)
        case .clear: return try await clearBought()
        case .duplicates: return try await showDuplicates(merging: false)
        case .merge: return try await showDuplicates(merging: true)
        case .count(let text): return try await count(text)
        case .note(let text):
            return try await annotate(text, at: "is") { .note(itemID: $0, text: $1) }
        case .category(let text):
            return try await annotate(text, at: "is") { .category(itemID: $0, name: $1) }
        case .picture(let text): return try await setPicture(text)
        case .view(let text): return try await showPicture(text)
        case .notify(let text): return try await choose(text)
        case .refetch: return try await refetch()
        case .signOut(let text): return try await signOut(text)
        default: return ""
        }
    }
}

/// Sharing the open list, and joining other people's.
extension ShoppingSession {
    func share() async throws -> String {
        let (listID, list) = try await openedList()
        let sharing = try await needingService { try await self.store.share(listID) }
        return "\(ListText.oneLine(list.title)) is shared. Invite people: invite ADDRESS.\n"
            + Self.link(of: sharing)
    }

    func invite(_ text: String) async throws -> String {
        let (listID, _) = try await openedList()
        let addresses = text.split { $0.isWhitespace || $0 == ";" || $0 == "," }.map(String.init)
        let sharing = try await needingService {
            try await self.store.invite(addresses, to: listID)
        }
        return "Invited: \(addresses.joined(separator: ", ")). Send them the link.\n"
            + Self.link(of: sharing)
    }

    func people() async throws -> String {
        let (listID, list) = try await openedList()
        guard let sharing = await store.sharing(of: listID) else {
            return "\(ListText.oneLine(list.title)) is not shared; type share."
        }
        let people = sharing.people.filter { $0.standing != .gone }
        numberedPersonIDs = people.map(\.id)
        shownRequesterIDs = sharing.requesterIDs
        var lines = people.enumerated().map { index, person in
            var words = [person.isOwner ? "owner" : person.mayWrite ? "may write" : "may read"]
            if person.isMe { words.append("you") }
            if person.standing == .invited { words.append("invited") }
            return
                "\(index + 1) \(ListText.oneLine(person.name)) (\(words.joined(separator: ", ")))"
        }
        switch sharing.linkAccess {
        case .invitedOnly: break
        case .read: lines.append("Everyone with the link may read.")
        case .write: lines.append("Everyone with the link may write.")
        }
        lines += sharing.requests.map { "\(ListText.oneLine($0)) asks to join: approve, or deny." }
        return (lines + [Self.link(of: sharing)]).joined(separator: "\n")
    }

    private static func link(of sharing: ListSharing) -> String {
        sharing.link.map { "Link: \($0.absoluteString)" } ?? "The link comes with the next sync."
    }

    func setLink(_ text: String) async throws -> String {
        let (listID, _) = try await openedList()
        let words: [String: (ListSharing.LinkAccess, Bool)] = [
            "closed": (.invitedOnly, false), "ask": (.invitedOnly, true),
            "read": (.read, false), "write": (.write, false),
        ]
        guard let (access, takesRequests) = words[text.lowercased()] else {
            throw CannotDo(
                "A link cannot be \"\(text)\"; type link closed, link ask, link read or link write."
            )
        }
        let sharing = try await needingService {
            try await self.store.setLink(access, takesRequests: takesRequests, of: listID)
        }
        return Self.link(of: sharing)
    }

    func answerRequests(approving: Bool) async throws -> String {
        let (listID, _) = try await openedList()
        let sharing = await store.sharing(of: listID)
        // Only requests that were shown are answered; newer ones must be shown first.
        let shown = shownRequesterIDs ?? sharing?.requesterIDs ?? []
        let names = zip(sharing?.requests ?? [], sharing?.requesterIDs ?? [])
            .filter { shown.contains($1) }.map(\.0)
        guard !names.isEmpty else {
            return sharing?.requests.isEmpty == false
                ? "There are new requests; type people first." : "There are no requests to join."
        }
        try await needingService {
            try await self.store.answerRequests(of: listID, approving: approving, only: shown)
        }
        return names.map { "\(ListText.oneLine($0)) \(approving ? "is invited" : "is denied")." }
            .joined(separator: "\n")
    }

    func dismiss(_ text: String) async throws -> String {
        let (listID, _) = try await openedList()
        let people = await store.sharing(of: listID)?.people.filter { $0.standing != .gone } ?? []
        let named = people.filter { $0.name.lowercased() == text.lowercased() }
        // As they were shown: people who joined meanwhile do not change the numbers.
        let shown = numberedPersonIDs.isEmpty ? people.map(\.id) : numberedPersonIDs
        // The smallest integer has none before it.
        let numbered = Int(text).flatMap { shown.indices.contains($0 &- 1) ? shown[$0 - 1] : nil }
            .flatMap { id in people.first { $0.id == id } }
        guard numbered != nil || named.count < 2 else {
            throw CannotDo("Several people are called \"\(text)\"; type people and use a number.")
        }
        guard let person = numbered ?? named.first, !person.isOwner else {
            throw CannotDo("There is no person \"\(text)\" to remove; type people to see them.")
        }
        try await needingService { try await self.store.remove(person.id, from: listID) }
        return "\(ListText.oneLine(person.name)) is removed from the list."
    }

    func join(_ text: String) async throws -> String {
        guard let link = URL(string: text), link.scheme != nil else {
            throw CannotDo("\"\(text)\" is not a link; type join and the link that you were sent.")
        }
        let listID = try await needingService { try await self.store.join(link) }
        await open(listID)
        return "\(ListText.oneLine(await store.list(listID)?.title ?? "")) is open."
    }

    func askToJoin(_ text: String) async throws -> String {
        guard let link = URL(string: text), link.scheme != nil else {
            throw CannotDo("\"\(text)\" is not a link; type ask and the link that you were sent.")
        }
        try await needingService { try await self.store.askToJoin(link) }
        return "The owner is asked. When you are let in, type join and the link."
    }

    func leave() async throws -> String {
        let (listID, list) = try await openedList()
        try await store.leave(listID)
        close()
        return "You left \(ListText.oneLine(list.title)); its link brings it back."
    }

    func stopSharing() async throws -> String {
        let (listID, list) = try await openedList()
        try await needingService { try await self.store.stopSharing(listID) }
        return "\(ListText.oneLine(list.title)) is no longer shared; it stays on your devices."
    }

    func delete(_ text: String) async throws -> String {
        let (listID, list) = try await openedList()
        guard text.lowercased() == list.title.lowercased() else {
            throw CannotDo(
                "Nothing is deleted: to delete the open list permanently, type delete \(ListText.oneLine(list.title))."
            )
        }
        if listID.isOwn, await store.sharing(of: listID) == nil {
            // No one else needs to know: the deletion is queued like every change.
            try await store.delete(listID)
        } else {
            try await needingService { try await self.store.delete(listID) }
        }
        close()
        return listID.isOwn
            ? "\(ListText.oneLine(list.title)) is deleted."
            : "You left \(ListText.oneLine(list.title)); its link brings it back."
    }

    /// Runs work that needs the service, and turns its errors into sentences.
    private func needingService<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try requireAccount()
        do {
            return try await body()
        } catch {
            throw CannotDo(ShoppingSentence.of(error))
        }
    }
}

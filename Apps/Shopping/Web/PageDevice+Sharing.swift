import ShoppingCore
import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// The mode, the people of a list, and syncing.
extension PageDevice {
    func answerFurther(
        to action: PageAction, _ listID: ListID, _ list: ShoppingList
    ) async throws -> String? {
        let title = ListText.oneLine(list.title)
        switch action {
        case .goShopping: await changeScreen { $0.enter(.shopping) }
        case .goPlanning: await changeScreen { $0.enter(.planning) }
        case .takeNotice(let itemID): await changeScreen { $0.accept(noticeOf: itemID) }
        case .takeAllNotices: await changeScreen { $0.acceptAllNotices() }
        case .leave:
            try await store.leave(listID)
            closeList()
            return "You left \(title); its link brings it back."
        case .delete:
            // The deletion of an unshared list is queued like every change.
            if await store.sharing(of: listID) != nil, listID.isOwn { try requireAccount() }
            try await store.delete(listID)
            closeList()
            return listID.isOwn
                ? "\(title) is deleted." : "You left \(title); its link brings it back."
        default:
            try requireAccount()
            return try await share(action, listID, title)
        }
        return nil
    }

    private func share(
        _ action: PageAction, _ listID: ListID, _ title: String
    ) async throws -> String? {
        switch action {
        case .share:
            try await store.share(listID)
            return "\(title) is shared. Invite people, and send them the link."
        case .invite(let text):
            let addresses = text.split { $0.isWhitespace || $0 == ";" || $0 == "," }
            guard !addresses.isEmpty, addresses.allSatisfy({ $0.contains("@") }) else {
                throw CannotDo(
                    "\"\(text)\" is not an e-mail address; type those of the people to invite.")
            }
            try await store.invite(addresses.map(String.init), to: listID)
            return "Invited: \(addresses.joined(separator: ", ")). Send them the link."
        case .setLink(let access, let takesRequests):
            let linkAccess: ListSharing.LinkAccess =
                switch access {
                case .invited: .invitedOnly
                case .read: .read
                case .write: .write
                }
            try await store.setLink(linkAccess, takesRequests: takesRequests, of: listID)
            return "The link is changed."
        case .removePerson(let personID):
            let people = await store.sharing(of: listID)?.people ?? []
            guard let person = people.first(where: { $0.id == personID }), !person.isOwner else {
                throw CannotDo("This person does not share the list any more.")
            }
            try await store.remove(personID, from: listID)
            return "\(ListText.oneLine(person.name)) is removed from the list."
        case .answerRequests(let approving):
            try await store.answerRequests(of: listID, approving: approving)
            return approving
                ? "The people who asked may join now, by the link."
                : "The people who asked are denied."
        case .stopSharing:
            try await store.stopSharing(listID)
            return "\(title) is no longer shared; it stays on your devices."
        default: return nil
        }
    }

    // MARK: Other people's lists

    private func link(_ text: String) throws -> URL {
        guard let link = URL(string: Self.trimmed(text)), link.scheme?.hasPrefix("http") == true
        else {
            throw CannotDo("\"\(text)\" is not a link; paste the one that you were sent.")
        }
        return link
    }

    func join(_ text: String) async throws -> String? {
        try requireAccount()
        let listID = try await store.join(try link(text))
        await open(listID)
        return "\(ListText.oneLine(await store.list(listID)?.title ?? "The list")) is open."
    }

    func ask(_ text: String) async throws -> String? {
        try requireAccount()
        try await store.askToJoin(try link(text))
        return "The owner is asked. When you are let in, join by the link."
    }

    // MARK: Syncing

    func requireAccount() throws {
        if let localOnlyReason { throw CannotDo(localOnlyReason) }
    }

    func goOnline(_ wanted: Bool) async throws -> String? {
        try requireAccount()
        isOnline = wanted
        await store.setOnline(wanted)
        if wanted { await store.start() }
        return nil
    }

    func sync() async throws -> String? {
        try requireAccount()
        guard isOnline else { throw CannotDo("You are offline; go online first.") }
        try await store.sync()
        await openOnlyList()
        let refused = try await store.status().attentionCount
        guard refused == 0 else {
            throw CannotDo(
                "Not synced: the service refused \(refused == 1 ? "1 change" : "\(refused) changes"); "
                    + "choose Send again or Give up.")
        }
        return "In step with the service."
    }
}

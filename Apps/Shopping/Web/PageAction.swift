/// What the page can ask for, as its JSON has it: `{"tick":{"itemID":"…"}}`.
package enum PageAction: Codable, Hashable, Sendable {
    case open(listID: String)
    case close
    case create(title: String)
    /// Lines of a text; one line may name several items between semicolons.
    case add(text: String)
    case tick(itemID: String)
    case untick(itemID: String)
    case remove(itemID: String)
    /// A picture is set by a separate request, as it is not JSON.
    case removePicture(itemID: String)
    case addAgain(itemID: String)
    case rename(itemID: String, name: String)
    /// How many, from 1.
    case count(itemID: String, number: Int)
    case note(itemID: String, text: String)
    case category(itemID: String, name: String)
    /// Within its aisle.
    case moveUp(itemID: String)
    case moveDown(itemID: String)
    case renameList(title: String)
    case recolour(colour: String)
    case clearBought
    case mergeDuplicates
    case goShopping, goPlanning
    case takeNotice(itemID: String)
    case takeAllNotices
    case undo(eventID: String)
    case goOnline, goOffline, sync
    case retryRefused, giveUpRefused
    case share
    case invite(addresses: String)
    case setLink(access: PageState.Sharing.Access, takesRequests: Bool)
    case removePerson(personID: String)
    case answerRequests(approving: Bool)
    case join(link: String)
    case ask(link: String)
    case leave, stopSharing, delete
}

/// An action and the list that the user saw when they asked for it.
package struct PageRequest: Codable, Hashable, Sendable {
    package var listID: String?
    package var action: PageAction

    package init(listID: String? = nil, _ action: PageAction) {
        self.listID = listID
        self.action = action
    }
}

/// The result of an action, shown where the action was requested.
package struct PageAnswer: Codable, Hashable, Sendable {
    /// Nil if the list itself shows it.
    package var sentence: String?
    package var isError = false

    package init(_ sentence: String? = nil, isError: Bool = false) {
        self.sentence = sentence
        self.isError = isError
    }
}

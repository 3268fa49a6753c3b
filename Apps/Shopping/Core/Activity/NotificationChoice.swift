/// Which changes by other people the user wants to be notified of while the app is not open.
public struct NotificationChoice: Hashable, Sendable {
    public var tellsAdds: Bool
    public var tellsTicks: Bool

    public init(tellsAdds: Bool = false, tellsTicks: Bool = false) {
        self.tellsAdds = tellsAdds
        self.tellsTicks = tellsTicks
    }

    /// The text of a notification; nil for what the person did not choose.
    public func text(for change: ShoppingChange) -> String? {
        switch change.kind {
        case .itemAdded where tellsAdds, .itemTicked where tellsTicks:
            "\(ListText.oneLine(change.listTitle)): \(change.sentence)"
        default: nil
        }
    }

    /// As one word.
    var text: String { (tellsAdds ? "adds " : "") + (tellsTicks ? "ticks" : "") }

    init(text: String) {
        let words = text.split(separator: " ")
        self.init(tellsAdds: words.contains("adds"), tellsTicks: words.contains("ticks"))
    }
}

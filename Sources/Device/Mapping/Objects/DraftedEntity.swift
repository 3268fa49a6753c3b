/// An object that is filled in one step, so that no edit happens between two of its properties.
protocol DraftedEntity: CloudEntity {
    func draft() -> Self
    func take(_ draft: Self, unlessEditedSince known: Int64?) -> Bool
}

extension CloudEntity {
    /// Changes an object by values from the cloud, unless it was edited since it was last read.
    ///
    /// - Parameter known: the change date at that time, in milliseconds.
    /// - Returns: whether it was changed.
    mutating func change(
        unlessEditedSince known: Int64?, _ body: (inout Self) -> Void
    ) -> Bool {
        guard changeMilliseconds == known else { return false }
        if let drafted = self as? any DraftedEntity {
            func taken<Drafted: DraftedEntity>(_ drafted: Drafted) -> Bool {
                guard var draft = drafted.draft() as? Self else { return false }
                body(&draft)
                return (draft as? Drafted).map { drafted.take($0, unlessEditedSince: known) }
                    ?? false
            }
            return taken(drafted)
        }
        body(&self)
        return true
    }
}

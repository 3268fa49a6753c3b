/// The part of a list that is found in one aisle.
public struct AisleSection<Row: Sendable>: Sendable {
    public let aisle: Aisle
    /// The rows in the list's own order.
    public let rows: [Row]
}

extension Catalogue {
    /// Sorts a list by aisle in walking order; within an aisle the list's own order stays.
    public func sections(of items: [ShoppingItem]) -> [AisleSection<ShoppingItem>] {
        sections(of: items) { $0 }
    }

    /// Sorts a screen's rows by aisle in walking order; within an aisle their own order stays.
    public func sections(of rows: [ListScreen.Row]) -> [AisleSection<ListScreen.Row>] {
        sections(of: rows, item: \.item)
    }

    private func sections<Row: Sendable>(
        of rows: [Row], item: (Row) -> ShoppingItem
    ) -> [AisleSection<Row>] {
        Dictionary(grouping: rows) { row in
            // User-defined categories come before the aisles, as the shop does not know them.
            item(row).category.map { Aisle(name: ListText.oneLine($0), position: -1) }
                ?? aisle(of: item(row).name)
        }
        .sorted { $0.key < $1.key }
        .map { AisleSection(aisle: $0.key, rows: $0.value) }
    }
}

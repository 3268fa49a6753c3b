/// The result of one item of a request.
typealias ItemResult<Item, Value> = (item: Item, result: Result<Value, any Error>)

/// The results of a request by item; the first one for an item that was named twice.
func byItem<Item: Hashable, Value>(
    _ results: [ItemResult<Item, Value>]
) -> [Item: Result<Value, any Error>] {
    Dictionary(results.map { ($0.item, $0.result) }) { first, _ in first }
}

/// The results of a request to save and delete items of one kind, in the order of the request.
protocol ItemsModification: Sendable {
    associatedtype ItemID: Hashable, Sendable
    associatedtype Item: Sendable

    var saves: [ItemResult<ItemID, Item>] { get set }
    var deletions: [ItemResult<ItemID, Void>] { get set }

    init()
}

extension ItemsModification {
    typealias ResultsByItem = (
        saveResults: [ItemID: Result<Item, any Error>],
        deleteResults: [ItemID: Result<Void, any Error>]
    )

    var resultsByItem: ResultsByItem { (byItem(saves), byItem(deletions)) }
}

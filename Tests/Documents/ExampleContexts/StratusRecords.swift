import StratusRecords

private struct Item {
    let id: String
    let neededIDs: [String]
}

private var items: [Item] { fatalError() }
private func find(_ id: String) -> Item? { fatalError() }

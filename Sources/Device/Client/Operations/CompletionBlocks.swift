// Completion blocks of older code, which get value and error as separate arguments, or the results of all items at
// once.

/// Calls the block for an item's result; if there is none, calls that of older code.
func callBlock<Item, Value>(
    _ block: ((Item, Result<Value, any Error>) -> Void)?,
    or old: ((Item, Value?, (any Error)?) -> Void)?, _ item: Item,
    _ result: Result<Value, any Error>
) {
    if let block { block(item, result) } else { old?(item, result.success, result.failure) }
}

/// Calls the block of a fetch operation with the items that it fetched. The error is `partialFailure` when single items
/// failed.
func callBlock<Item: Hashable, Value>(
    _ block: (([Item: Value]?, (any Error)?) -> Void)?, _ results: [ItemResult<Item, Value>],
    _ error: CKError?
) {
    guard let block else { return }
    var values: [Item: Value] = [:]
    var errors: [AnyHashable: any Error] = [:]
    for (item, result) in results {
        values[item] = result.success
        errors[item] = result.failure
    }
    block(values, error ?? CKError.partialFailure(errors))
}

extension ItemsModification {
    /// Calls the block of an operation with the items that it saved and deleted. The error is
    /// `partialFailure` when single items failed.
    func callBlock(_ block: (([Item]?, [ItemID]?, (any Error)?) -> Void)?, _ error: CKError?) {
        guard let block else { return }
        var errors: [AnyHashable: any Error] = [:]
        for save in saves { errors[save.item] = save.result.failure }
        for deletion in deletions { errors[deletion.item] = deletion.result.failure }
        block(
            saves.compactMap { $0.result.success },
            deletions.compactMap { $0.result.failure == nil ? $0.item : nil },
            error ?? CKError.partialFailure(errors))
    }
}

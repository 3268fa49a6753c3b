/// Runs a body for each item, a limited number at a time; the first error cancels the others.
package func forEachConcurrently<Item: Sendable>(
    _ items: [Item], limit: Int, _ body: @escaping @Sendable (Item) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, item) in items.enumerated() {
            if index >= limit { try await group.next() }
            group.addTask { try await body(item) }
        }
        try await group.waitForAll()
    }
}

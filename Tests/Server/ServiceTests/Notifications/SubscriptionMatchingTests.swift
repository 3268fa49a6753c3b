import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

/// Which subscriptions an event concerns.
@Suite struct SubscriptionMatchingTests {
    private static let schema = ContainerSchema(
        SchemaRows(fields: [
            SchemaFieldRow(recordType: "Hut", field: nil, type: nil),
            SchemaFieldRow(
                recordType: "Hut", field: "beds", type: .int64, indexes: [.queryable, .sortable]),
        ]))

    private func change(_ name: String, beds number: Int64) -> OutboxEvent.Change {
        let row = RecordRow(
            zone: ZoneRow.Key(rawValue: 1), name: name, type: "Hut", version: 1, commitVersion: 1,
            changeTag: "1.a", isDeleted: false, creatorDevice: "", createdMilliseconds: 1,
            modifiedMilliseconds: 1, creator: "_a", modifier: "_a", modifierDevice: "",
            parent: nil, shareRoot: nil, payload: RecordFields.values([beds(number)]).encoded())
        return OutboxEvent.Change(
            recordName: name, recordType: "Hut", reason: .recordCreated, row: row)
    }

    /// One user may have 1,000 subscriptions, and a record a megabyte.
    @Test func recordIsReadOnceForAllSubscriptions() throws {
        let address = DatabaseAddress(
            ContainerAddress(container: World.container, environment: .development),
            .private(owner: "_a"))
        let entries = (0..<50).map { number in
            SubscriptionSummary.Entry(
                user: "_a", subscriber: "_a", identifier: "s\(number)",
                subscription: SubscriptionsTests.query(
                    "s\(number)",
                    filters: [.init(.greaterThan, .user("beds"), .int64(Int64(number)))]))
        }
        var matching = SubscriptionMatching(
            event: OutboxEvent(
                zoneName: ZoneID.defaultZoneName, user: "_a", device: "phone",
                changes: [change("small", beds: 3), change("large", beds: 20)]),
            scope: .private, address: address,
            identifier: NotificationIdentifier(
                address: address, epoch: Epoch(number: 1, identifier: 1), row: 1),
            schema: Self.schema, limits: Limits())
        matching.match(entries)
        let counts = entries.map { matching.occurrences(for: $0).count }
        #expect(counts == (0..<50).map { ($0 < 3 ? 1 : 0) + ($0 < 20 ? 1 : 0) })
        #expect(matching.recordsRead == 2)
    }
}

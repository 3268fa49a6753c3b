import StratusWire
import Testing

/// Every example in the protocol's documentation for an existing endpoint is read and written again, and
/// compared with its golden file.
@Suite struct ExampleTests {
    struct Example: CustomTestStringConvertible, Sendable {
        var name: String
        /// Reads a text and writes the result.
        var rewrite: @Sendable ([UInt8], JSONDocument.Parser) throws -> [UInt8]

        var testDescription: String { name }

        init<Value: WireValue>(_ name: String, _ type: Value.Type) {
            self.name = name
            rewrite = { wireBytes(of: try readWire(type, from: $0, parser: $1)) }
        }
    }

    static let examples = [
        Example("assets-rereference.answer", AssetsRereference.Answer.self),
        Example("assets-rereference.request", AssetsRereference.Request.self),
        Example("assets-upload.answer", AssetsUpload.Answer.self),
        Example("assets-upload.request", AssetsUpload.Request.self),
        Example("assets-upload.uploaded", AssetsUpload.Uploaded.self),
        Example("changes-database.answer", ChangesDatabase.Answer.self),
        Example("changes-database.request", ChangesDatabase.Request.self),
        Example("changes-zone.answer", ChangesZone.Answer.self),
        Example("changes-zone.request", ChangesZone.Request.self),
        Example("error.atomic", ErrorBody.self),
        Example("error.damaged", ErrorBody.self),
        Example("error.sign-in", ErrorBody.self),
        Example("identity-exchange.request", IdentityExchange.Request.self),
        Example("notification.query", NotificationPayload.self),
        Example("operations-cancel.request", OperationsCancel.Request.self),
        Example("records-accept.request", RecordsAccept.Request.self),
        Example("records-lookup.answer", RecordsLookup.Answer.self),
        Example("records-lookup.request", RecordsLookup.Request.self),
        Example("records-modify.answer", RecordsModify.Answer.self),
        Example("records-modify.request", RecordsModify.Request.self),
        Example("records-query.answer", RecordsQuery.Answer.self),
        Example("records-query.request", RecordsQuery.Request.self),
        Example("records-requestaccess.answer", RecordsRequestAccess.Answer.self),
        Example("records-requestaccess.request", RecordsRequestAccess.Request.self),
        Example("records-resolve.answer", RecordsResolve.Answer.self),
        Example("share-requesters.answer", RecordsModify.Answer.self),
        Example("share-requesters.request", RecordsModify.Request.self),
        Example("share.answer", RecordsModify.Answer.self),
        Example("share.request", RecordsModify.Request.self),
        Example("subscriptions-lookup.answer", SubscriptionsLookup.Answer.self),
        Example("subscriptions-lookup.request", SubscriptionsLookup.Request.self),
        Example("subscriptions-modify.answer", SubscriptionsModify.Answer.self),
        Example("subscriptions-modify.request", SubscriptionsModify.Request.self),
        Example("tokens-create.answer", TokensCreate.Answer.self),
        Example("tokens-create.request", TokensCreate.Request.self),
        Example("tokens-register.answer", TokensRegister.Answer.self),
        Example("tokens-register.request", TokensRegister.Request.self),
        Example("users-caller.answer", UsersCaller.Answer.self),
        Example("users-current.answer", UsersCurrent.Answer.self),
        Example("users-discover.answer", UsersDiscover.Answer.self),
        Example("users-discover.request", UsersDiscover.Request.self),
        Example("users-lookup-email.answer", UsersLookupEmail.Answer.self),
        Example("users-lookup-email.request", UsersLookupEmail.Request.self),
        Example("users-lookup-id.request", UsersLookupID.Request.self),
        Example("users-permission.answer", UsersPermission.Answer.self),
        Example("users-permission.request", UsersPermission.Request.self),
        Example("users-sessions.answer", UsersSessions.Answer.self),
        Example("users-sessions.request", UsersSessions.Request.self),
        Example("zones-list.answer", ZonesList.Answer.self),
        Example("zones-lookup.answer", ZonesLookup.Answer.self),
        Example("zones-lookup.request", ZonesLookup.Request.self),
        Example("zones-modify.answer", ZonesModify.Answer.self),
        Example("zones-modify.request", ZonesModify.Request.self),
    ]

    @Test("Every example is written as its golden file says", arguments: examples)
    func everyExampleMatchesItsGoldenFile(example: Example) throws {
        let text = try Fixtures.bytes("Examples/\(example.name).json")
        let written = try example.rewrite(text, .standard)
        let golden = try Fixtures.bytes("Examples/\(example.name).written.json")
        #expect(string(written) + "\n" == string(golden))
    }

    @Test("A written example is read as the same value", arguments: examples)
    func writtenExampleReadsAsTheSameValue(example: Example) throws {
        let text = try Fixtures.bytes("Examples/\(example.name).json")
        // The first reading resolves what a request leaves open, such as a value's type.
        let once = try example.rewrite(text, .standard)
        #expect(try example.rewrite(once, .standard) == once)
    }

    @Test("Every example file is listed")
    func everyExampleFileIsListed() throws {
        let files = try Fixtures.names(in: "Examples").filter { !$0.contains(".written.") }
        #expect(files == Self.examples.map { $0.name + ".json" })
    }

    private func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusService
import StratusStorage

@testable import StratusServer

/// The caller of a route.
enum AccessCaller: String, CaseIterable {
    /// Without an API token.
    case nobody
    /// With an API token and an invalid web-auth token.
    case wrongToken
    /// With an API token alone.
    case noUser
    /// A user with whom no record is shared.
    case stranger
    /// A participant who may read.
    case reader
    case owner
}

/// One route, called by every caller.
struct AccessRow: Sendable, CustomStringConvertible {
    enum Place: String, Sendable {
        /// The owner's zone: in the private database for the owner, in the shared one for others.
        case zone
        /// The public database.
        case `public`
        /// An address without a database.
        case none
    }

    var route: String
    var place: Place
    var body: String
    /// The expected answer to each caller, in the order of ``AccessCaller``.
    var expected: [String]

    /// - Parameter body: The request's body; each `${word}` is replaced by the stage's value for it.
    init(_ route: String, _ place: Place = .none, _ body: String = "", answers: AccessAnswers) {
        self.route = route
        self.place = place
        self.body = body
        expected = answers.all
    }

    var description: String { "\(route) \(place) \(body)" }
}

/// The answers to the callers, in the order of ``AccessCaller``.
struct AccessAnswers {
    var all: [String]

    private static let noToken = "401 AUTHENTICATION_FAILED"
    private static let noUser = "421 AUTHENTICATION_REQUIRED"

    /// All callers get the same answer, or the address itself is the credential.
    static func everybody(_ answer: String) -> AccessAnswers {
        AccessAnswers(all: AccessCaller.allCases.map { _ in answer })
    }

    /// An API token is required; all callers with one get the same answer.
    static func apps(_ answer: String) -> AccessAnswers {
        AccessAnswers(all: [noToken] + Array(repeating: answer, count: 5))
    }

    /// An API token is enough, and an invalid web-auth token is refused.
    static func readers(_ answer: String) -> AccessAnswers {
        AccessAnswers(all: [noToken, noUser] + Array(repeating: answer, count: 4))
    }

    /// A signed-in user is required.
    static func users(_ answer: String) -> AccessAnswers {
        users(answer, reader: answer, owner: answer)
    }

    static func users(_ stranger: String, reader: String, owner: String) -> AccessAnswers {
        AccessAnswers(all: [noToken, noUser, noUser, stranger, reader, owner])
    }

    /// Only the owner has the address; the others guess one.
    static func ownerAlone(_ answer: String, others: String) -> AccessAnswers {
        AccessAnswers(all: Array(repeating: others, count: 5) + [answer])
    }
}

/// A service with data of one owner, some of which is shared with a reader.
///
/// - In the owner's zone Trips the record `trail` is shared with the reader; `hut` is its child. `diary` is
///   not shared. Other users may ask for access.
/// - The public database has a record of the owner.
struct AccessStage: Sendable {
    static let container = "iCloud.org.example.Access"

    private let client: any TestClientProtocol
    private var tokens: [AccessCaller: String] = [:]
    /// The values that replace words in paths and bodies.
    private var words: [String: String] = [:]

    static func service() -> CloudService {
        var limits = Limits()
        limits.longPollSeconds = 0
        var settings = ServiceSettings(isForDevelopment: true, limits: limits)
        settings.accounts.signUp = .open
        settings.accounts.identityProviders = [
            IdentityProvider(issuer: "https://id.example.org", audiences: ["app"]) { "{}" }
        ]
        return CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
    }

    static func routes(_ service: CloudService) -> Routes {
        Routes(
            service: service, logger: Logger(label: "test"), publicOrigin: nil, isTLS: false)
    }

    init(_ service: CloudService, _ client: any TestClientProtocol) async throws {
        self.client = client
        for caller in [AccessCaller.stranger, .reader, .owner] {
            let signIn = try await service.signInForDevelopment(user: "\(caller)@example.org")
            tokens[caller] = signIn.webAuthToken
            words["\(caller)Name"] = signIn.userRecordName
        }
        tokens[.wrongToken] = String((tokens[.owner] ?? "").dropLast(8)) + "AAAAAAAA"
        words["zone"] = #"{"zoneName":"Trips","ownerRecordName":"\#(words["ownerName"] ?? "")"}"#
        try await addData()
        await service.waitUntilIdle()
    }

    private mutating func addData() async throws {
        let zones = "POST /database/1/{container}/{environment}/{database}/zones/modify"
        let modify = "POST /database/1/{container}/{environment}/{database}/records/modify"
        try await prepare(
            zones, .zone,
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Trips"}}}]}"#)
        let courier = try await prepare(
            "POST /database/1/{container}/{environment}/tokens/create", .none,
            #"{"apnsEnvironment":"development"}"#)
        words["pushToken"] = courier["apnsToken"] as? String
        try await prepare(
            "POST /database/1/{container}/{environment}/tokens/register", .none,
            #"{"apnsEnvironment":"development","apnsToken":"${pushToken}"}"#)
        try await prepare(
            "POST /database/1/{container}/{environment}/{database}/subscriptions/modify", .zone,
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"all",
            "subscriptionType":"zone","zoneID":${zone}}}]}
            """#)
        let saved = try await prepare(
            modify, .zone,
            #"""
            {"zoneID":${zone},"operations":[
            {"operationType":"create","record":{"recordName":"trail","recordType":"Trail"}},
            {"operationType":"create","record":{"recordName":"hut","recordType":"Hut",
            "parent":{"recordName":"trail"},"fields":{"beds":{"value":4}}}},
            {"operationType":"create","record":{"recordName":"diary","recordType":"Hut"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"trail"},"publicPermission":"NONE",
            "allowsAccessRequests":true,"participants":[
            {"permission":"READ_ONLY","userIdentity":{"lookupInfo":{"userRecordName":"${readerName}"}}}
            ]}}]}
            """#)
        let share = (saved["records"] as? [[String: Any]])?.last
        words["shortGUID"] = share?["shortGUID"] as? String
        try await prepare(
            modify, .public,
            #"""
            {"operations":[{"operationType":"create","record":{"recordName":"news",
            "recordType":"News"}}]}
            """#)
        try await prepare(
            "POST /database/1/{container}/{environment}/{database}/records/accept", .public,
            #"{"shortGUIDs":[{"value":"${shortGUID}"}]}"#, as: .reader)
        try await addAsset(modify)
    }

    private mutating func addAsset(_ modify: String) async throws {
        let upload = "POST /database/1/{container}/{environment}/{database}/assets/upload"
        let tokens = try await prepare(
            upload, .zone,
            #"""
            {"zoneID":${zone},"tokens":[{"recordType":"Hut","recordName":"diary",
            "fieldName":"photo"}]}
            """#)
        let url = (tokens["tokens"] as? [[String: Any]])?.first?["url"] as? String ?? ""
        words["uploadToken"] = url.split(separator: "/").last.map(String.init)
        let stored = try await prepare("POST /assets/put/{token}", .none, "photo")
        let receipt = try JSONSerialization.data(withJSONObject: stored["singleFile"] ?? [:])
        words["receipt"] = String(decoding: receipt, as: UTF8.self)
        let saved = try await prepare(
            modify, .zone,
            #"""
            {"zoneID":${zone},"operations":[{"operationType":"forceUpdate","record":{
            "recordName":"diary","recordType":"Hut","fields":{"photo":{"value":${receipt}}}}}]}
            """#)
        let record = (saved["records"] as? [[String: Any]])?.first
        let field = (record?["fields"] as? [String: Any])?["photo"] as? [String: Any]
        let address = (field?["value"] as? [String: Any])?["downloadURL"] as? String ?? ""
        let parts = address.split(separator: "/")
        words["assetToken"] = parts.dropLast().last.map(String.init)
    }

    @discardableResult
    private func prepare(
        _ route: String, _ place: AccessRow.Place, _ body: String, as caller: AccessCaller = .owner
    ) async throws -> [String: Any] {
        let row = AccessRow(route, place, body, answers: .everybody("200"))
        let response = try await send(row, as: caller)
        let answer = try JSONSerialization.jsonObject(with: Data(buffer: response.body))
        let summary = AccessSummary(response).text
        guard let object = answer as? [String: Any], summary.hasPrefix("200"),
            !summary.contains("_")
        else { throw PreparationFailure(route: route, summary: summary) }
        return object
    }

    struct PreparationFailure: Error {
        let route: String
        let summary: String
    }

    // MARK: Requests

    /// The answers to the owner's reads, which show whether the data is unchanged.
    func ownersData() async throws -> [String] {
        let database = "POST /database/1/{container}/{environment}/{database}/"
        let rows = [
            AccessRow(
                database + "records/lookup", .zone,
                #"""
                {"zoneID":${zone},"records":[{"recordName":"trail"},{"recordName":"hut"},
                {"recordName":"diary"},{"recordName":"share"},{"recordName":"new"}]}
                """#, answers: .everybody("")),
            AccessRow(
                database + "records/query", .zone,
                #"""
                {"zoneID":${zone},"query":{"recordType":"Hut","filterBy":[{"fieldName":"beds",
                "comparator":"EQUALS","fieldValue":{"value":4}}]}}
                """#, answers: .everybody("")),
            AccessRow(database + "subscriptions/list", .zone, "{}", answers: .everybody("")),
            AccessRow("GET /courier/aps", .none, "", answers: .everybody("")),
            AccessRow("GET /assets/get/{token}", .none, "", answers: .everybody("")),
        ]
        var answers: [String] = []
        for row in rows { answers.append(try await ask(row, as: .owner)) }
        return answers
    }

    func ask(_ row: AccessRow, as caller: AccessCaller) async throws -> String {
        AccessSummary(try await send(row, as: caller)).text
    }

    private func send(_ row: AccessRow, as caller: AccessCaller) async throws -> TestResponse {
        let parts = row.route.split(separator: " ")
        guard parts.count == 2, let method = HTTPRequest.Method(String(parts[0])) else {
            throw PreparationFailure(route: row.route, summary: "no route")
        }
        return try await client.execute(
            uri: uri(String(parts[1]), row.place, caller), method: method,
            headers: [.contentType: "text/plain"],
            body: ByteBuffer(string: filled(row.body, caller)))
    }

    private func uri(_ route: String, _ place: AccessRow.Place, _ caller: AccessCaller) -> String {
        let isOwner = caller == .owner
        let secret = route.hasPrefix("/assets/put") ? "uploadToken" : "assetToken"
        let database = place == .public ? "public" : isOwner ? "private" : "shared"
        let path =
            route
            .replacing("{container}", with: Self.container)
            .replacing("{environment}", with: "development")
            .replacing("{database}", with: database)
            // Addresses of assets are their own credentials: others can only guess.
            .replacing("{token}", with: isOwner ? words[secret] ?? "" : "Z3Vlc3NlZA")
            .replacing("{shortGUID}", with: words["shortGUID"] ?? "")
            .replacing("{name}", with: "photo.jpg")
        // The owner's other device is notified of the owner's saves.
        let device = place == .none ? "phone" : "tablet"
        var query = ["stratusExtensions=1", "clientId=\(device)"]
        if path.hasPrefix("/courier") {
            query.append("tok=\(isOwner ? words["pushToken"] ?? "" : "guessed")")
        }
        if caller != .nobody { query.append("ckAPIToken=\(ServiceSettings.developmentToken)") }
        if let token = tokens[caller]?
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        {
            query.append("ckWebAuthToken=\(token)")
        }
        return path + "?" + query.joined(separator: "&")
    }

    private func filled(_ body: String, _ caller: AccessCaller) -> String {
        var body = body
        // Twice, since the values of words contain words.
        for _ in 0..<2 {
            for (word, value) in words { body = body.replacing("${\(word)}", with: value) }
        }
        return body.replacing("${caller}", with: caller.rawValue)
    }
}

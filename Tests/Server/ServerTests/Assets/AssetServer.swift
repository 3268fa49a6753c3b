import Foundation
import StratusRecords
import StratusService
import StratusWire
import TestProcesses
import TestServing
import Testing

/// A running server and a user of it.
struct AssetServer: Sendable {
    static let address = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    let service: CloudService
    let token: String
    let port: Int

    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        func asset() throws -> AssetReceipt {
            try readWire(AssetsUpload.Uploaded.self, from: body).singleFile
        }
    }

    /// Runs a server with the user alice while `body` runs.
    static func run(
        _ limits: Limits = Limits(), _ body: @escaping @Sendable (AssetServer) async throws -> Void
    ) async throws {
        let service = CloudService.forDevelopment(limits: limits)
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        try await withServer(service) { port in
            try await body(AssetServer(service: service, token: token, port: port))
        }
    }

    private var credentials: Credentials {
        Credentials(
            apiToken: ServiceSettings.developmentToken, webAuthToken: token, clientID: "phone",
            wantsExtensions: true)
    }

    func uploadToken() async throws -> String {
        let served = try await service.respond(
            to: AssetsUpload.self, .init(tokens: [.init(fieldName: "photo")]), from: credentials,
            at: Self.address, scope: .private)
        guard case .success(let token) = served.answer.items[0] else { return "" }
        return String(token.url.dropFirst("/assets/put/".count))
    }

    func upload(_ body: [UInt8], _ headers: String = "") async throws -> Answer {
        try await exchange(
            "POST /assets/put/\(uploadToken()) HTTP/1.1\r\nHost: localhost\r\n\(headers)"
                + "Connection: close\r\nContent-Length: \(body.count)\r\n\r\n", body)
    }

    /// The path of the download address of a saved asset.
    func savedPath(_ body: [UInt8], _ headers: String = "") async throws -> String {
        try await savedPath(of: upload(body, headers).asset())
    }

    /// The same for an asset that was uploaded.
    func savedPath(of asset: AssetReceipt, recordName: String = "a") async throws -> String {
        let served = try await service.respond(
            to: RecordsModify.self,
            .init(operations: [
                .init(
                    .create,
                    RecordDictionary(
                        recordName: recordName, recordType: "Hut",
                        fields: .values([Field(name: "photo", value: .asset(asset))])))
            ]), from: credentials, at: Self.address, scope: .private)
        guard case .record(let record) = served.answer.records[0],
            case .asset(let saved)? = try record.fields.values()[0].value
        else { throw POSIXError(.ENOENT) }
        return saved.downloadURL ?? ""
    }

    func get(_ path: String, _ headers: String = "") async throws -> Answer {
        try await exchange(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n")
    }

    func exchange(_ head: String, _ body: [UInt8] = []) async throws -> Answer {
        let bytes = try await BareConnection(port).onThread {
            Self.exchange($0, Array(head.utf8) + body)
        }
        return try #require(Self.answer(in: bytes))
    }

    /// Nil while the head is not complete.
    private static func answer(in bytes: [UInt8]) -> Answer? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.lowerBound else {
            return nil
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            guard pair.count == 2 else { continue }
            headers[pair[0].lowercased()] = pair[1].trimmingCharacters(in: .whitespaces)
        }
        return Answer(
            status: Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0,
            headers: headers, body: Array(bytes.dropFirst(end + 4)))
    }

    private static func exchange(_ connection: RawConnection, _ request: [UInt8]) -> [UInt8] {
        // The server may have read enough, and closed its side.
        try? connection.send(request)
        var answer: [UInt8] = []
        while case let more = connection.receive(), !more.isEmpty {
            answer += more
            // After a refused upload the client closes the connection, since it may still be sending.
            if let sofar = Self.answer(in: answer), sofar.status >= 400,
                sofar.body.count == sofar.headers["content-length"].flatMap({ Int($0) })
            {
                break
            }
        }
        return answer
    }
}

import Foundation
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import StratusWire
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
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true, limits: limits))
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
            onListening: { port.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                try await body(AssetServer(service: service, token: token, port: number))
                break
            }
            group.cancelAll()
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

    /// The same, of an asset that was uploaded.
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
        let port = port
        let bytes = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try Self.exchange(port, Array(head.utf8) + body) })
            }
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

    private static func exchange(_ port: Int, _ request: [UInt8]) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The server may have heard enough.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 {
            answer += chunk[..<count]
            // A refused upload leaves the closing to its client, which may still send.
            if let sofar = Self.answer(in: answer), sofar.status >= 400,
                sofar.body.count == sofar.headers["content-length"].flatMap({ Int($0) })
            {
                break
            }
        }
        return answer
    }
}

import Foundation
import HTTPTypes
import Hummingbird
import StratusTesting
import Synchronization
import TestServing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A proxy between a client and the real service that records what the client sends.
struct RecordingProxy: Sendable {
    struct Sent: Sendable {
        var path: String
        var query: [String]
        var body: Data
    }

    final class Log: Sendable {
        private let sent = Mutex<[Sent]>([])
        var all: [Sent] { sent.withLock { $0 } }
        func add(_ one: Sent) { sent.withLock { $0.append(one) } }
    }

    let log = Log()
    /// Called with the path of each served request, before its answer is passed on.
    var served: @Sendable (_ path: String) async throws -> Void = { _ in }

    /// Serves a cloud behind the proxy while `body` runs.
    func serve(
        _ cloud: TestCloud, _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await withServer(cloud.service) { service in
            let forward = Forward(
                origin: "http://127.0.0.1:\(service)", log: log, served: served)
            try await withServer(everyRequest(forward.answer)) { port in
                try await body("http://127.0.0.1:\(port)")
            }
        }
    }

    private struct Forward: Sendable {
        let origin: String
        let log: Log
        let served: @Sendable (String) async throws -> Void

        func answer(_ request: Request) async throws -> Response {
            let body = try await request.body.collect(upTo: 10_000_000)
            let uri = request.uri
            let data = Data(body.readableBytesView)
            if uri.path.hasPrefix("/database/") || uri.path.hasPrefix("/device/") {
                let names = (uri.query ?? "").split(separator: "&").map {
                    String($0.prefix { $0 != "=" })
                }
                log.add(Sent(path: uri.path, query: names, body: data))
            }
            let response = try await forward(request, data)
            try await served(uri.path)
            return response
        }

        private func forward(_ request: Request, _ body: Data) async throws -> Response {
            guard let url = URL(string: origin + request.uri.string) else {
                return Response(status: .badRequest)
            }
            var copy = URLRequest(url: url)
            copy.httpMethod = request.method.rawValue
            copy.httpBody = body.isEmpty ? nil : body
            for field in request.headers where field.name != .contentLength {
                copy.setValue(field.value, forHTTPHeaderField: field.name.canonicalName)
            }
            // The service builds its links from this header.
            copy.setValue(request.head.authority, forHTTPHeaderField: "Host")
            let (data, answer) = try await URLSession.shared.data(for: copy)
            guard let answer = answer as? HTTPURLResponse else {
                return Response(status: .badGateway)
            }
            var fields = HTTPFields()
            for (name, value) in answer.allHeaderFields {
                if let name = HTTPField.Name("\(name)"), name != .contentLength,
                    name != .transferEncoding, name != .contentEncoding
                {
                    fields[name] = "\(value)"
                }
            }
            return Response(
                status: .init(code: answer.statusCode), headers: fields,
                body: .init(byteBuffer: .init(bytes: data)))
        }
    }
}

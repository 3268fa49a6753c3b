import Foundation
import TestProcesses

/// A bare TCP connection, for requests that no well-behaved client sends. Each call has its own thread, so that
/// it blocks no thread pool.
final class BareConnection: Sendable {
    private let connection: RawConnection

    init(_ port: Int) throws {
        connection = try RawConnection(port: port)
    }

    /// Sends a request and reads one answer with its body.
    ///
    /// - Returns: an empty text when the server closed without an answer.
    func ask(_ text: String) async throws -> String {
        try await onThread { connection in
            let answer = try connection.ask(text)
            return answer.head + answer.body
        }
    }

    /// Sends a request and reads until the server closes the connection.
    func askToEnd(_ text: String) async throws -> String {
        try await onThread { connection in
            try connection.send(text)
            return connection.readToEnd()
        }
    }

    /// Whether the server has closed the connection; waits until it closes it or sends something.
    func isClosed() async throws -> Bool {
        try await onThread { $0.receive(upTo: 1).isEmpty }
    }

    func onThread<Value: Sendable>(
        _ work: @escaping @Sendable (RawConnection) throws -> Value
    ) async throws -> Value {
        let connection = connection
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try work(connection) })
            }
        }
    }
}

/// A request as text.
func post(
    _ path: String, _ body: String, headers: String = "", announcing length: Int? = nil
) -> String {
    """
    POST \(path) HTTP/1.1\r
    Host: localhost\r
    Content-Length: \(length ?? body.utf8.count)\r
    \(headers)\r
    \(body)
    """
}

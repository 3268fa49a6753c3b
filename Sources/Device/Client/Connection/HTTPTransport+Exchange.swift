import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import StratusRecords
import StratusRuntime
import StratusWire

extension HTTPTransport {
    /// A timeout in seconds as a `Duration`, limited to what a clock can represent.
    static func duration(ofSeconds seconds: Double) -> Duration {
        .seconds(max(0.001, min(seconds, 1e9)))
    }

    /// Sends one HTTP request and collects the whole answer within the timeout; the HTTP client's
    /// own deadline covers only the head of the answer.
    ///
    /// - Throws: ``TransportError``, `CancellationError`.
    func execute(
        _ request: HTTPClientRequest, timeoutSeconds: Double
    ) async throws -> HTTPResponse {
        let request = request.withCoding
        do {
            let duration = Self.duration(ofSeconds: timeoutSeconds)
            let seconds = duration / .seconds(1)
            return try await world.withTimeout(
                seconds: seconds, throwing: TransportError.unanswered(afterSeconds: seconds)
            ) {
                let response = try await self.client.execute(
                    request, timeout: TimeAmount(duration))
                if let listener = AnswerTime.listener, let time = AnswerTime(response.headers) {
                    listener(time)
                }
                let body = try await response.body.collect(upTo: Self.maximumAnswerBytes)
                return HTTPResponse(
                    status: Int(response.status.code), headers: response.headers, body: body)
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            var failure = Self.transportError(error)
            failure.address = failure.address ?? origin
            throw failure
        }
    }

    /// Throws when an answer is an error.
    func check(_ response: HTTPResponse) throws {
        guard !(200..<300).contains(response.status) else { return }
        try checkIsPlain(response)
        let retryAfterSeconds = response.headers.first(name: "Retry-After").flatMap(Double.init)
        let body: ErrorBody
        do {
            body = try response.body.withUnsafeReadableBytes {
                try readWire(ErrorBody.self, from: $0)
            }
        } catch {
            throw TransportError(
                .answerUnreadable,
                "Something other than the service answered, perhaps a proxy in front of it: check"
                    + " the proxy, or correct the address.",
                httpStatus: response.status, retryAfterSeconds: retryAfterSeconds, cause: error,
                address: origin)
        }
        var error = body.error
        error.retryAfterSeconds = error.retryAfterSeconds ?? retryAfterSeconds
        throw ServiceFailure(error, uuid: body.uuid, records: body.records, address: origin)
    }

    /// Detects plain HTTP sent to a TLS port, by the answer of Stratus's service and of nginx.
    private func checkIsPlain(_ response: HTTPResponse) throws {
        guard response.status == 400, origin.hasPrefix("http:"),
            String(buffer: response.body).contains("plain HTTP request was sent to")
        else { return }
        throw TransportError(
            .notTrusted,
            "The server at this address speaks TLS: begin the address with https:// instead.",
            httpStatus: response.status, address: origin)
    }

    func read<Value>(
        _ response: HTTPResponse, _ body: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value {
        do {
            return try response.body.withUnsafeReadableBytes(body)
        } catch {
            throw TransportError(
                .answerUnreadable,
                "The service's answer does not follow the protocol; see the cause.",
                httpStatus: response.status, cause: error, address: origin)
        }
    }

    // MARK: Failures

    /// Translates a failure of the HTTP client into what it means for the request.
    static func transportError(_ error: any Error) -> TransportError {
        switch error {
        case let error as TransportError: return error
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            // Its name could not be resolved.
            return unknownHost(error.host, error)
        case let error as NIOConnectionError:
            let isCutOff = error.connectionErrors.allSatisfy { isNoRoute($0.error) }
            return isCutOff ? noRoute(error) : refused(error)
        case let error as SocketAddressError.UnknownHost: return unknownHost(error.host, error)
        case let error as IOError where error.errnoCode == ECONNREFUSED: return refused(error)
        case let error as IOError where isNoRoute(error): return noRoute(error)
        case is SocketAddressError: return noRoute(error)
        case ChannelError.connectTimeout: return refused(error)
        case NIOSSLError.handshakeFailed(let reason) where isPlain(reason):
            return TransportError(
                .notTrusted,
                "The server at this address does not speak TLS: begin the address with http://"
                    + " instead.",
                cause: error)
        case is HTTPParserError:
            return TransportError(
                .answerUnreadable,
                "The server at this address does not speak HTTP: if it speaks TLS, begin the"
                    + " address with https://.", cause: error)
        case let extra as NIOSSLExtraError where extra == .failedToValidateHostname:
            return TransportError(
                .notTrusted,
                "The server's certificate is for another name: put that name in the address.",
                cause: error)
        case NIOSSLError.handshakeFailed, is NIOSSLExtraError:
            return TransportError(
                .notTrusted,
                "The server's certificate is not trusted: correct the address, or set SSL_CERT_FILE"
                    + " to the certificates of the authority that signed it.", cause: error)
        case let error as HTTPClientError: return transportError(error)
        case is NIOTooManyBytesError:
            return TransportError(
                .answerUnreadable, "The answer is too large; ask for fewer records.", cause: error)
        default:
            return .lost(error)
        }
    }

    private static func transportError(_ error: HTTPClientError) -> TransportError {
        switch error {
        case .connectTimeout: refused(error)
        case .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout,
            .requestStreamCancelled, .tlsHandshakeTimeout:
            TransportError(
                .timedOut, "The service did not answer in time; try again.", cause: error)
        default: .lost(error)
        }
    }

    /// Whether a handshake failed because the other side answered in plain text, which only the
    /// text of BoringSSL's error shows.
    private static func isPlain(_ reason: BoringSSLError) -> Bool {
        let words = String(describing: reason)
        return words.contains("WRONG_VERSION_NUMBER") || words.contains("HTTP_REQUEST")
    }

    private static func isNoRoute(_ error: any Error) -> Bool {
        guard let code = (error as? IOError)?.errnoCode else { return false }
        return [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(code)
    }

    private static func refused(_ error: any Error) -> TransportError {
        TransportError(
            .refused,
            "Nothing listens at the service's address: start the service, or correct the address.",
            cause: error)
    }

    /// The error for a name without an address. On a device that is offline no name has one.
    private static func unknownHost(_ host: String, _ error: any Error) -> TransportError {
        TransportError(
            .noRoute,
            "The host \(host) was not found: check the network and the host's name.", cause: error)
    }

    private static func noRoute(_ error: any Error) -> TransportError {
        TransportError(
            .noRoute,
            "The service's address cannot be reached: check the network and the address.",
            cause: error)
    }
}

extension TransportError {
    /// The error of a request whose time limit has passed.
    static func unanswered(afterSeconds seconds: Double) -> TransportError {
        TransportError(
            .timedOut, "The service did not answer within \(seconds) s; try again.")
    }

    /// The error of a connection that was lost after the request was sent.
    package static func lost(_ cause: (any Error)? = nil) -> TransportError {
        TransportError(
            .answerLost,
            "The connection was lost, and the request may have been served; fetch what it changed"
                + " before you send it again.",
            cause: cause)
    }
}

extension HTTPClientRequest {
    /// The request with `Accept-Encoding: identity` unless it sets the header itself. Otherwise the HTTP client, which
    /// can inflate, would request gzip.
    var withCoding: HTTPClientRequest {
        guard !headers.contains(name: "Accept-Encoding") else { return self }
        var request = self
        request.headers.add(name: "Accept-Encoding", value: "identity")
        return request
    }
}

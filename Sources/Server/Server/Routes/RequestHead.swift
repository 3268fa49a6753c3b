import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// What a request says apart from its body: the credentials, the container and the database.
struct RequestHead: Sendable {
    var address: ContainerAddress
    /// Nil for paths without a database segment.
    var scope: DatabaseScope?
    var credentials: Credentials
    /// Whether a server signed the request: then the body is part of the credentials.
    var isSigned: Bool

    /// Reads the path's segments and the query's credentials.
    ///
    /// - Throws: ``RequestFailure`` with NOT_FOUND when the path names no environment or database.
    init(
        _ request: Request, _ parameters: Parameters, limits: Limits, networkAddress: String?
    ) throws {
        guard let container = parameters.get("container"), Self.isContainer(container),
            let environment = parameters.get("environment").flatMap(
                ContainerEnvironment.init(rawValue:))
        else { throw RequestFailure(.unknownAddress) }
        address = ContainerAddress(container: container, environment: environment)
        if let segment = parameters.get("database") {
            guard let scope = DatabaseScope(pathSegment: segment) else {
                throw RequestFailure(.unknownAddress)
            }
            self.scope = scope
        }
        let separators = request.uri.query?.utf8.count { $0 == UInt8(ascii: "&") } ?? 0
        guard separators < limits.parametersPerRequest else {
            throw RequestFailure(.tooManyParameters(limits.parametersPerRequest))
        }
        let query = request.uri.queryParameters
        // CloudKit JS, version 1, called the web-auth token ckSession.
        let webAuthToken = query["ckWebAuthToken"] ?? query["ckSession"]
        credentials = Credentials(
            apiToken: query["ckAPIToken"].map(String.init),
            webAuthToken: webAuthToken.map(String.init),
            clientID: query["clientId"].map(String.init),
            wantsExtensions: request.knowsOurs,
            wantsSyncToken: ["true", "True", "1"].contains(query["getCurrentSyncToken"]),
            origin: request.headers[.origin], networkAddress: networkAddress)
        isSigned = HTTPField.Name.signatureParts.contains { request.headers[$0] != nil }
    }

    /// The signature of a server's request over a body.
    static func signature(of request: Request, over body: ByteBuffer) -> RequestSignature {
        let parts = HTTPField.Name.signatureParts.map { request.headers[$0] ?? "" }
        return RequestSignature(
            keyID: parts[0], date: parts[1], signature: parts[2], target: request.head.path ?? "",
            body: Array(body.readableBytesView))
    }

    /// Whether a path segment can be a container: letters, digits, dots, hyphens and underscores, 255 at most. Apple's
    /// identifiers have no others.
    private static func isContainer(_ segment: String) -> Bool {
        (1...255).contains(segment.utf8.count) && segment.utf8.allSatisfy(\.isInNames)
    }
}

extension HTTPField.Name {
    /// The headers with key, date and signature of a request from server to server. The names are valid constants: an
    /// invalid literal fails the first test run.
    static let signatureParts = [
        "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date",
        "X-Apple-CloudKit-Request-SignatureV1",
    ].map { Self($0) ?? .eTag }
}

extension ServiceError {
    static let unknownAddress = ServiceError(
        .notFound,
        """
        There is no endpoint at this address. Those of a database are at \
        /database/1/CONTAINER/ENVIRONMENT/DATABASE/…; see Documentation/Wire.md for all paths.
        """)

    static func bodyTooLarge(_ limitBytes: Int) -> ServiceError {
        overLimit(
            "The request's body is larger than \(limitBytes) bytes; send fewer records at a time.")
    }

    static func tooManyParameters(_ limit: Int) -> ServiceError {
        overLimit("The address has more than \(limit) parameters; send fewer.")
    }

    static let bodyBroken = ServiceError(
        .badRequest, "The request's body is incomplete; send it again.")

    static let bodyTooSlow = ServiceError(
        .badRequest, "The request's body did not arrive in time; send it again.")
}

extension Request {
    /// Whether the rest of a refused request may be longer than is worth reading for the next request on the same
    /// connection.
    var mayHaveLongBody: Bool {
        if let announced = headers[.contentLength].flatMap({ Int($0) }) {
            return announced > 65_536
        }
        return headers[.transferEncoding] != nil
    }

    /// Collects the body within the limit of size. Its time and its memory are watched where it arrives
    /// (`ByteCounter`).
    ///
    /// - Throws: ``RequestFailure`` when it is too large or too slow. The connection cannot be used any more then,
    ///   because an unread rest may be in it.
    func collectBody(_ limits: Limits) async throws -> ByteBuffer {
        if let announced = headers[.contentLength].flatMap({ Int($0) }),
            announced > limits.requestBodyBytes
        {
            throw RequestFailure(
                .bodyTooLarge(limits.requestBodyBytes), unreadBody: .tooLarge)
        }
        do {
            return try await body.collect(upTo: limits.requestBodyBytes)
        } catch is NIOTooManyBytesError {
            throw RequestFailure(
                .bodyTooLarge(limits.requestBodyBytes), unreadBody: .tooLarge)
        } catch {
            throw RequestFailure.ofBody(error)
        }
    }
}

extension RequestFailure {
    /// What ended a body early, if the error does not say: the client, its connection, or a violation of HTTP.
    static func ofBody(_ error: any Error) -> any Error {
        error is RequestFailure || error is CancellationError
            ? error : RequestFailure(.bodyBroken, unreadBody: .refused)
    }
}

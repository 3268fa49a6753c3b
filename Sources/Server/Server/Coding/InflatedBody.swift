import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusRuntime
import StratusService
import StratusWire

/// A request's body without its content coding: inflated as it is read.
struct InflatedBody: AsyncSequence, Sendable {
    /// Bytes that are inflated at a time.
    private static let bytesPerPiece = 65_536
    /// Bytes that any body may inflate to, however small it is.
    private static let bytesAlwaysInflated = 1_000_000
    /// The most bytes that one byte may inflate to, beyond that. JSON reaches 20, the format itself
    /// 1,032.
    private static let ratio = 100

    /// How the body's bytes are counted.
    enum Counting: Sendable {
        /// The inflated bytes count until the request is answered, and may not be more than the limit.
        case untilAnswer(HeldMemory?, limitBytes: Int)
        /// The body is passed on as it comes: the bytes that arrived are given back, and its reader counts the
        /// inflated ones.
        case passing(ConnectionLedger?)
    }

    let body: RequestBody
    let counting: Counting
    let memoryWaitSeconds: Double
    let world: World

    func makeAsyncIterator() -> Iterator {
        Iterator(source: self, body: body.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: InflatedBody
        fileprivate var body: RequestBody.AsyncIterator
        private var inflater: Inflater?
        private var arrived = ByteBuffer()
        private var arrivedBytes = 0
        private var inflatedBytes = 0

        fileprivate init(source: InflatedBody, body: RequestBody.AsyncIterator) {
            self.source = source
            self.body = body
        }

        mutating func next() async throws -> ByteBuffer? {
            while true {
                let piece = try inflate()
                if piece.readableBytes > 0 {
                    try await hold(piece.readableBytes)
                    return piece
                }
                guard let bytes = try await nextArrived() else {
                    guard inflater?.isComplete ?? true else {
                        throw RequestFailure(.bodyNotInflated, unreadBody: .refused)
                    }
                    return nil
                }
                if case .passing(let ledger?) = source.counting { ledger.used(bytes.readableBytes) }
                arrived = bytes
                arrivedBytes += bytes.readableBytes
            }
        }

        private mutating func nextArrived() async throws -> ByteBuffer? {
            do {
                return try await body.next()
            } catch {
                throw RequestFailure.ofBody(error)
            }
        }

        private mutating func inflate() throws -> ByteBuffer {
            guard arrivedBytes > 0 else { return ByteBuffer() }
            let piece: ByteBuffer
            do {
                let inflater = try inflater ?? Inflater()
                self.inflater = inflater
                piece = try inflater.inflate(&arrived, atMost: InflatedBody.bytesPerPiece)
            } catch is Inflater.Malformed {
                throw RequestFailure(.bodyNotInflated, unreadBody: .refused)
            }
            inflatedBytes += piece.readableBytes
            var most = Swift.max(
                InflatedBody.bytesAlwaysInflated, InflatedBody.ratio * arrivedBytes)
            if case .untilAnswer(_, let limitBytes) = source.counting {
                most = Swift.min(limitBytes, most)
            }
            guard inflatedBytes <= most else {
                throw RequestFailure(.inflatesTooMuch(most), unreadBody: .tooLarge)
            }
            return piece
        }

        private func hold(_ bytes: Int) async throws {
            guard case .untilAnswer(let held?, _) = source.counting else { return }
            do {
                try await held.take(
                    bytes, waitingSeconds: source.memoryWaitSeconds, in: source.world)
            } catch let error as ServiceError {
                throw RequestFailure(error, unreadBody: .refused)
            }
        }
    }
}

/// Inflates the bodies of requests before anything else reads them.
struct InflatedBodies: ServerMiddleware {
    let service: CloudService

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        switch request.headers[.contentEncoding]?.lowercased() {
        case nil, "identity": return try await next(request, context)
        case "gzip", "x-gzip", "deflate": break
        default:
            var response = Response(
                RequestFailure(.unknownCoding(request.headers[.contentEncoding] ?? "")),
                uuid: service.newUUID(), knowsOurs: request.knowsOurs)
            response.status = .unsupportedMediaType
            response.headers[.acceptEncoding] = "gzip, deflate"
            if request.mayHaveLongBody { response.headers[.connection] = "close" }
            return response
        }
        // The bytes of assets are written to the disk as they arrive, and are counted there.
        let isPassing = request.uri.path.hasPrefix("/assets/")
        let limits = service.settings.limits
        let held = isPassing ? nil : context.ledger?.memory.sibling()
        defer { if let held { held.giveBack(held.bytes) } }
        var inflating = request
        inflating.body = RequestBody(
            asyncSequence: InflatedBody(
                body: request.body,
                counting: isPassing
                    ? .passing(context.ledger)
                    : .untilAnswer(held, limitBytes: limits.requestBodyBytes),
                memoryWaitSeconds: limits.memoryWaitSeconds, world: service.settings.world))
        return try await next(inflating, context)
    }
}

extension Request {
    /// Whether the body was inflated, so that its announced length is not that of the inflated
    /// bytes.
    var isInflated: Bool {
        headers[.contentEncoding].map { $0.lowercased() != "identity" } ?? false
    }

    /// Whether the client accepts answers in gzip.
    var takesGzip: Bool {
        headers[values: .acceptEncoding].flatMap { $0.split(separator: ",") }.contains { coding in
            let parts = coding.split(separator: ";").map {
                $0.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            guard parts.first == "gzip" || parts.first == "x-gzip" else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            return weight.flatMap { Double($0.dropFirst(2)) } != 0
        }
    }
}

extension ServiceError {
    fileprivate static func unknownCoding(_ coding: String) -> ServiceError {
        ServiceError(
            .badRequest,
            "The service cannot read the body's Content-Encoding \(coding); send gzip, deflate or none."
        )
    }

    fileprivate static let bodyNotInflated = ServiceError(
        .badRequest,
        "The body does not match its Content-Encoding, or is incomplete; send it again."
    )

    fileprivate static func inflatesTooMuch(_ limitBytes: Int) -> ServiceError {
        overLimit(
            """
            The body inflates to more than \(limitBytes) bytes; send fewer records at a time, or \
            without a Content-Encoding.
            """)
    }
}

import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusRuntime
import StratusService
import StratusWire
import Synchronization

extension Routes {
    /// Adds the two addresses at which the bytes of assets are uploaded and downloaded. The credential is in the path:
    /// everyone who has the address may use it until it expires.
    func addAssets(to router: Router<ServerContext>) {
        router.post("assets/put/:token") { request, context in
            await respond(to: request) {
                try checkRate(of: request, context)
                return try await upload(
                    context.parameters.get("token") ?? "", request, context.ledger)
            }
        }
        addResumableUploads(to: router)
        // After the token comes the name under which a client wants the file.
        for path in ["assets/get/:token", "assets/get/:token/:name"] {
            for method in [HTTPRequest.Method.get, .head] {
                router.on(RouterPath(path), method: method) { request, context in
                    await respond(to: request) {
                        try checkRate(of: request, context)
                        let token = context.parameters.get("token") ?? ""
                        return AssetAnswer(
                            try await service.download(
                                token,
                                paidBy: .networkAddress(networkAddress(of: request, context))),
                            headers: request.headers,
                            name: AssetName(inAddress: context.parameters.get("name") ?? "")
                        ).response(hasBody: method == .get)
                    }
                }
            }
        }
    }

    /// What an upload holds in memory: the bytes that are not written to the disk yet.
    private static let bytesPerUpload = 1_000_000

    /// Streams the body into the service, either the body itself or the file of a form.
    private func upload(
        _ token: String, _ request: Request, _ ledger: ConnectionLedger?
    ) async throws -> Response {
        let answer = try await transfer(request, ledger) { pieces in
            // A form is a little larger than its file, which is counted as it is read, and the length of a body in gzip
            // is not the asset's.
            try await service.upload(
                to: token, announcedBytes: pieces.isForm ? nil : pieces.announcedBytes,
                fileName: { pieces.fileName.escaped }, pieces)
        }
        return Response(wireBytes: wireBytes(of: answer))
    }

    /// Passes the bytes of a request on as they arrive, and ends a transfer that is too slow.
    func transfer<Outcome: Sendable>(
        _ request: Request, _ ledger: ConnectionLedger?,
        _ body: @escaping @Sendable (UploadPieces) async throws -> Outcome
    ) async throws -> Outcome {
        let memory = ledger?.memory.sibling()
        memory?.take(Self.bytesPerUpload)
        defer { memory?.giveBack(Self.bytesPerUpload) }
        let settings = service.settings
        let progress = TransferProgress()
        let pieces = UploadPieces(
            body: request.body, progress: progress,
            // Inflated bytes were given back already.
            ledger: request.isInflated ? nil : ledger,
            boundary: request.headers[.contentType].flatMap(FormFile.boundary(contentType:)),
            fileName: UploadedName(
                request.headers[.contentDisposition].flatMap { AssetName(contentDisposition: $0) }),
            announcedBytes: request.isInflated
                ? nil : request.headers[.contentLength].flatMap { Int64($0) })
        return try await progress.watch(
            idleSeconds: settings.limits.assetIdleSeconds,
            totalSeconds: settings.limits.assetUploadSeconds, in: settings.world,
            throwing: RequestFailure(.bodyTooSlow, unreadBody: .tooSlow)
        ) {
            try await body(pieces)
        }
    }
}

/// The bytes of an uploaded asset, piece by piece as they arrive.
struct UploadPieces: AsyncSequence, Sendable {
    let body: RequestBody
    let progress: TransferProgress
    let ledger: ConnectionLedger?
    /// Nil when the body is the asset itself.
    let boundary: [UInt8]?
    /// The name of the file; in a form, it precedes the file.
    let fileName: UploadedName
    /// The expected number of bytes; nil if the client sent none.
    let announcedBytes: Int64?

    var isForm: Bool { boundary != nil }

    func makeAsyncIterator() -> Iterator {
        Iterator(
            body: body.makeAsyncIterator(), progress: progress, ledger: ledger,
            form: boundary.map { FormFile(boundary: $0) }, fileName: fileName,
            missingBytes: announcedBytes)
    }

    struct Iterator: AsyncIteratorProtocol {
        var body: RequestBody.AsyncIterator
        let progress: TransferProgress
        let ledger: ConnectionLedger?
        var form: FormFile?
        let fileName: UploadedName
        var missingBytes: Int64?

        mutating func next() async throws -> [UInt8]? {
            while let buffer = try await nextBuffer() {
                progress.advance()
                missingBytes? -= Int64(buffer.readableBytes)
                ledger?.used(buffer.readableBytes)
                let bytes = Array(buffer.readableBytesView)
                guard form != nil else { return bytes }
                let piece = try form?.read(bytes) ?? []
                if let name = form?.fileName { fileName.set(name) }
                if !piece.isEmpty { return piece }
            }
            if missingBytes ?? 0 > 0 { throw RequestFailure(.bodyBroken, unreadBody: .refused) }
            if form?.isComplete == false {
                throw RequestFailure(.malformedForm, unreadBody: .refused)
            }
            return nil
        }

        private mutating func nextBuffer() async throws -> ByteBuffer? {
            do {
                return try await body.next()
            } catch {
                throw RequestFailure.ofBody(error)
            }
        }
    }
}

/// The name of a file that is being uploaded, as soon as it is known.
final class UploadedName: Sendable {
    private let name: Mutex<AssetName?>

    init(_ name: AssetName?) {
        self.name = Mutex(name)
    }

    func set(_ name: AssetName) { self.name.withLock { $0 = name } }

    /// The name for use in an address.
    var escaped: String? { name.withLock { $0?.escaped } }
}

/// The answer to a download: the whole asset, a range of it, or that it is unchanged.
struct AssetAnswer {
    /// Bytes that are read from the disk at a time.
    private static let bytesPerRead = 256 * 1024

    let download: AssetDownload
    private(set) var status: HTTPResponse.Status
    private(set) var headers = HTTPFields()
    private(set) var range: Range<Int64>

    init(_ download: AssetDownload, headers request: HTTPFields, name: AssetName?) {
        self.download = download
        let size = download.sizeBytes
        let tag = "\"\(download.contentTag)\""
        status = .ok
        range = 0..<size
        // No browser may show or run an uploaded file as a page of this origin.
        headers[.contentType] = "application/octet-stream"
        let name = name ?? download.fileName.flatMap { AssetName(inAddress: $0) }
        headers[.contentDisposition] = name?.contentDisposition ?? "attachment"
        headers[.xContentTypeOptions] = "nosniff"
        headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
        headers[.cacheControl] = "private, max-age=3600, immutable"
        headers[.acceptRanges] = "bytes"
        headers[.eTag] = tag
        if let known = request[.ifNoneMatch], Self.lists(known, tag) {
            status = .notModified
            range = 0..<0
            return
        }
        guard let text = request[.range], request[.ifRange] ?? tag == tag else { return }
        switch ByteRange(text, sizeBytes: size) {
        case .part(let part):
            status = .partialContent
            range = part
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
        case .unsatisfiable:
            status = .rangeNotSatisfiable
            range = 0..<0
            headers[.contentRange] = "bytes */\(size)"
        case .whole: return
        }
    }

    func response(hasBody: Bool) -> Response {
        var headers = headers
        if status != .notModified { headers[.contentLength] = String(range.count) }
        guard hasBody, !range.isEmpty else { return Response(status: status, headers: headers) }
        let download = download
        let range = range
        let body = ResponseBody(contentLength: range.count) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let count = min(Int(range.upperBound - offset), Self.bytesPerRead)
                let bytes = try await download.read(at: offset, count: count)
                // The file is shorter than announced: the connection is closed, so that the client notices.
                guard !bytes.isEmpty else { throw RequestFailure(.unexpected) }
                try await writer.write(ByteBuffer(bytes: bytes))
                offset += Int64(bytes.count)
            }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }

    private static func lists(_ header: String, _ tag: String) -> Bool {
        header.split(separator: ",").contains { entry in
            let entry = entry.drop { $0 == " " }
            return entry == "*" || entry == tag || entry == "W/" + tag
        }
    }
}

extension HTTPField.Name {
    fileprivate static let contentDisposition = Self("Content-Disposition") ?? .eTag
    fileprivate static let xContentTypeOptions = Self("X-Content-Type-Options") ?? .eTag
    fileprivate static let contentSecurityPolicy = Self("Content-Security-Policy") ?? .eTag
}

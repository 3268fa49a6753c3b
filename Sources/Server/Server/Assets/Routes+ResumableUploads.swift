import HTTPTypes
import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// Adds resumable uploads in the form of the IETF's draft: HEAD returns the number of kept bytes, PATCH appends
    /// more, DELETE removes them.
    func addResumableUploads(to router: Router<ServerContext>) {
        router.on("assets/put/:token", method: .head) { request, context in
            await respond(to: request) {
                try checkRate(of: request, context)
                let token = context.parameters.get("token") ?? ""
                return offsetAnswer(try await service.keptBytes(ofUpload: token))
            }
        }
        router.delete("assets/put/:token") { request, context in
            await respond(to: request) {
                try checkRate(of: request, context)
                try await service.cancelUpload(context.parameters.get("token") ?? "")
                return Response(status: .noContent)
            }
        }
        router.patch("assets/put/:token") { request, context in
            await respond(to: request) {
                try checkRate(of: request, context)
                return try await resume(
                    context.parameters.get("token") ?? "", request, context.ledger)
            }
        }
    }

    private func resume(
        _ token: String, _ request: Request, _ ledger: ConnectionLedger?
    ) async throws -> Response {
        // For a request without a valid address, the only answer is NOT_FOUND.
        _ = try await service.keptBytes(ofUpload: token)
        guard let offset = request.headers[.uploadOffset].flatMap({ Int64($0) }), offset >= 0,
            let isLast = ["?0": false, "?1": true][request.headers[.uploadComplete] ?? ""]
        else { throw RequestFailure(.uploadHeaders, unreadBody: .refused) }
        let resumed = try await transfer(request, ledger) { pieces in
            guard !pieces.isForm else {
                throw RequestFailure(.uploadHeaders, unreadBody: .refused)
            }
            return try await service.resumeUpload(
                to: token, at: offset, isLast: isLast, announcedBytes: pieces.announcedBytes,
                fileName: { pieces.fileName.escaped }, pieces)
        }
        switch resumed {
        case .complete(let answer):
            var response = Response(wireBytes: wireBytes(of: answer))
            response.headers[.uploadComplete] = "?1"
            return response
        case .kept(let bytes): return offsetAnswer(bytes)
        case .otherOffset(let bytes):
            var response = Response(
                RequestFailure(.uploadOffset(offset, kept: bytes)), uuid: service.newUUID(),
                knowsOurs: request.knowsOurs)
            response.status = .conflict
            response.headers[.uploadOffset] = String(bytes)
            if request.mayHaveLongBody { response.headers[.connection] = "close" }
            return response
        }
    }

    private func offsetAnswer(_ bytes: Int64) -> Response {
        var headers = HTTPFields()
        headers[.uploadOffset] = String(bytes)
        headers[.uploadComplete] = "?0"
        headers[.uploadLimit] = "max-size=\(service.settings.limits.assetBytes)"
        headers[.cacheControl] = "no-store"
        return Response(status: .noContent, headers: headers)
    }
}

extension HTTPField.Name {
    // The names are valid constants: an invalid literal fails the first test run.
    fileprivate static let uploadOffset = Self("Upload-Offset") ?? .eTag
    fileprivate static let uploadComplete = Self("Upload-Complete") ?? .eTag
    fileprivate static let uploadLimit = Self("Upload-Limit") ?? .eTag
}

extension ServiceError {
    fileprivate static let uploadHeaders = ServiceError(
        .badRequest,
        """
        The part lacks Upload-Offset or Upload-Complete, or is a form. Send the bytes as they are, in \
        Upload-Offset where they begin, and in Upload-Complete ?1 if they end the asset or ?0 if not.
        """,
        frameworkCode: .invalidArguments)

    fileprivate static func uploadOffset(_ offset: Int64, kept bytes: Int64) -> ServiceError {
        invalid(
            "The part begins at byte \(offset), and \(bytes) bytes were received; continue at \(bytes)."
        )
    }
}

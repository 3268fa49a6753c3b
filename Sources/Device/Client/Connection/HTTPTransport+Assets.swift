import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StratusRecords
import StratusRuntime
import StratusWire

extension HTTPTransport {
    /// Seconds that a transfer of an asset may take as long as bytes keep moving: a day.
    private static let transferSeconds: Double = 86_400
    /// The largest upload, in bytes, that is sent again from the beginning after it was
    /// interrupted.
    private static let wholeBytes: Int64 = 8_000_000
    /// How many attempts an upload has within one operation; the operation's own retries are not
    /// counted.
    private static let attemptsPerUpload = 5
    /// The pauses before an upload is resumed.
    private static let backoff = Backoff(firstSeconds: 0.5, longestSeconds: 8)
    /// The largest answer, in bytes, that is read when the service sends something other than an
    /// asset.
    private static let refusalBytes = 65_536

    private static let standstill = TransportError(
        .timedOut,
        "The transfer of the asset stalled for longer than the request's time limit; try again.")

    /// Sends the bytes of an asset. A large upload that was interrupted is resumed where it ended,
    /// a few times.
    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        guard asset.sizeBytes > Self.wholeBytes, !isAppleService else {
            return try await sendBytes(asset, to: url, after: nil, timeoutSeconds)
        }
        var backoff = Self.backoff
        var attempts = 0
        while true {
            attempts += 1
            do {
                let kept = try await keptBytes(ofUpload: url, timeoutSeconds: timeoutSeconds)
                return try await sendBytes(asset, to: url, after: kept, timeoutSeconds)
            } catch
                where attempts < Self.attemptsPerUpload
                && Self.mayResume(after: error, attempts: attempts)
            {
                let asked = CKError(requestFailedWith: error).retryAfterSeconds ?? 0
                try await world.sleep(max(asked, backoff.nextSeconds(random: world.random())))
            }
        }
    }

    /// Whether an upload is resumed after a failure: after an interruption, and then as long as the
    /// service does not answer or has not noticed the interruption.
    private static func mayResume(after error: any Error, attempts: Int) -> Bool {
        if (error as? TransportError)?.code == .answerLost { return true }
        return attempts > 1 && CKError(requestFailedWith: error).isTransient
    }

    /// - Parameter kept: Bytes that the service has; nil to send them whole.
    private func sendBytes(
        _ asset: AssetUpload, to url: String, after kept: Int64?, _ timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        var response = try await send(asset, to: url, after: kept, timeoutSeconds)
        if response.status == 409, let other = uploadOffset(response), kept != other {
            response = try await send(asset, to: url, after: other, timeoutSeconds)
        }
        try check(response)
        return try read(response) { try readWire(AssetsUpload.Uploaded.self, from: $0) }.singleFile
    }

    /// - Parameter kept: Bytes that the service has; nil to send them whole.
    private func send(
        _ asset: AssetUpload, to url: String, after kept: Int64?, _ timeoutSeconds: Double
    ) async throws -> HTTPResponse {
        let progress = TransferProgress()
        let rest = asset.after(min(kept ?? 0, asset.sizeBytes))
        var request = HTTPClientRequest(url: absolute(url))
        request.method = kept == nil ? .POST : .PATCH
        if let kept {
            request.headers.add(name: "Content-Type", value: "application/partial-upload")
            request.headers.add(name: "Upload-Offset", value: String(kept))
            request.headers.add(name: "Upload-Complete", value: "?1")
        } else {
            request.headers.add(name: "Content-Type", value: "application/octet-stream")
        }
        request.body = .stream(
            rest.map { piece in
                progress.advance()
                return ByteBuffer(bytes: piece)
            }, length: .known(asset.sizeBytes - rest.keptBytes))
        let prepared = request
        return try await progress.watch(
            idleSeconds: timeoutSeconds, in: world, throwing: Self.standstill
        ) {
            try await self.execute(prepared, timeoutSeconds: Self.transferSeconds)
        }
    }

    /// How many bytes of an upload the service has; nil if it does not say.
    private func keptBytes(
        ofUpload url: String, timeoutSeconds: Double
    ) async throws -> Int64? {
        var request = HTTPClientRequest(url: absolute(url))
        request.method = .HEAD
        let response = try await execute(request, timeoutSeconds: timeoutSeconds)
        // If the address is wrong, sending the bytes reports it.
        return response.status == 204 ? uploadOffset(response) : nil
    }

    private func uploadOffset(_ response: HTTPResponse) -> Int64? {
        response.headers.first(name: "Upload-Offset").flatMap { Int64($0) }.flatMap {
            $0 >= 0 ? $0 : nil
        }
    }

    public func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await download(
            from: url, startingAt: 0, timeoutSeconds: timeoutSeconds, receive: receive)
    }

    public func download(
        from url: String, startingAt offset: Int64, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let progress = TransferProgress()
        // The service lets the client choose the file's name.
        var request = HTTPClientRequest(
            url: absolute(url).replacingOccurrences(of: "${f}", with: "asset"))
        if offset > 0 { request.headers.add(name: "Range", value: "bytes=\(offset)-") }
        // A range counts bytes of the file itself, so the answer must not be compressed.
        let prepared = offset > 0 ? request : request.withCoding
        try await progress.watch(
            idleSeconds: timeoutSeconds, in: world, throwing: Self.standstill
        ) {
            do {
                let response = try await self.client.execute(
                    prepared, timeout: .seconds(Int64(Self.transferSeconds)))
                let isPart = offset > 0 && response.status == .partialContent
                guard response.status == .ok || isPart else {
                    try self.check(
                        HTTPResponse(
                            status: Int(response.status.code), headers: response.headers,
                            body: try await response.body.collect(upTo: Self.refusalBytes)))
                    throw TransportError(
                        .answerUnreadable,
                        "Something other than the asset was answered, perhaps by a proxy in front of the"
                            + " service: check the proxy, or try again.",
                        httpStatus: Int(response.status.code))
                }
                // A service without range requests returns the whole file.
                let skipped = SkippedBytes(isPart ? 0 : offset)
                for try await piece in response.body {
                    progress.advance()
                    let rest = skipped.rest(of: Array(piece.readableBytesView))
                    if !rest.isEmpty { try await receive(rest) }
                }
            } catch let error where error is CKError || error is ServiceFailure {
                throw error
            } catch {
                if Task.isCancelled { throw CancellationError() }
                var failure = Self.transportError(error)
                failure.address = failure.address ?? self.origin
                throw failure
            }
        }
    }

    /// An address without an origin belongs to this service.
    private func absolute(_ url: String) -> String {
        url.hasPrefix("/") ? origin + url : url
    }
}

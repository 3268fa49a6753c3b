import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StratusRecords
import StratusRuntime
import StratusWire

extension HTTPTransport {
    /// Seconds that the bytes of an asset may take if they never stand still: a day.
    private static let transferSeconds: Double = 86_400
    /// Bytes that are sent anew when they were cut.
    private static let wholeBytes: Int64 = 8_000_000
    /// Bytes of an answer that is no asset.
    private static let refusalBytes = 65_536

    private static let standstill = TransportError(
        .timedOut, "The asset's bytes stood still for too long.")

    /// Sends the bytes of an asset. Where there are many, an upload that was cut goes on where it ended.
    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        var kept: Int64?
        if asset.sizeBytes > Self.wholeBytes, !isAppleService {
            kept = try await keptBytes(ofUpload: url, timeoutSeconds: timeoutSeconds)
        }
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

    /// Bytes that the service has of an upload; nil where it does not say.
    private func keptBytes(
        ofUpload url: String, timeoutSeconds: Double
    ) async throws -> Int64? {
        var request = HTTPClientRequest(url: absolute(url))
        request.method = .HEAD
        let response = try await execute(request, timeoutSeconds: timeoutSeconds)
        // What is wrong with the address is told with the bytes.
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
        let progress = TransferProgress()
        // The service gives the client the choice of the file's name.
        let request = HTTPClientRequest(
            url: absolute(url).replacingOccurrences(of: "${f}", with: "asset"))
        try await progress.watch(
            idleSeconds: timeoutSeconds, in: world, throwing: Self.standstill
        ) {
            do {
                let response = try await self.client.execute(
                    request, timeout: .seconds(Int64(Self.transferSeconds)))
                guard response.status == .ok else {
                    try self.check(
                        HTTPResponse(
                            status: Int(response.status.code), headers: response.headers,
                            body: try await response.body.collect(upTo: Self.refusalBytes)))
                    throw TransportError(
                        .answerUnreadable, "The service answered an asset with something else.",
                        httpStatus: Int(response.status.code))
                }
                for try await piece in response.body {
                    progress.advance()
                    try await receive(Array(piece.readableBytesView))
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

    /// Addresses without an origin are of this service.
    private func absolute(_ url: String) -> String {
        url.hasPrefix("/") ? origin + url : url
    }
}

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
    /// Bytes of an answer that is no asset.
    private static let refusalBytes = 65_536

    private static let standstill = TransportError(
        .timedOut, "The asset's bytes stood still for too long.")

    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        let progress = TransferProgress()
        var request = HTTPClientRequest(url: absolute(url))
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/octet-stream")
        request.body = .stream(
            asset.map { piece in
                progress.advance()
                return ByteBuffer(bytes: piece)
            }, length: .known(asset.sizeBytes))
        let prepared = request
        let response = try await progress.watch(
            idleSeconds: timeoutSeconds, in: world, throwing: Self.standstill
        ) {
            try await self.execute(prepared, timeoutSeconds: Self.transferSeconds)
        }
        try check(response)
        return try read(response) { try readWire(AssetsUpload.Uploaded.self, from: $0) }.singleFile
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

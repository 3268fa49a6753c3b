import Algorithms
import StratusClient
import StratusRecords
import StratusWire
import Synchronization

/// The bytes of assets, on the same connection as requests.
extension DeviceTransport {
    /// Bytes that are passed as one piece: a transfer can be cut after each of them.
    private static let pieceBytes = 500

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        try await noted("assets/put", "assets/put") { _ in
            try self.cloud.checkRoom(for: "assets/put")
            return try await self.inner().upload(asset, to: url, timeoutSeconds: timeoutSeconds)
        }
    }

    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await noted("assets/get", "assets/get", mayDouble: false) { fault in
            // A transfer that loses its answer ends after some pieces.
            let pieces = Mutex(
                fault == .answerLost ? Int(self.dice.milliseconds(below: 12)) : Int.max)
            try await self.inner().download(from: url, timeoutSeconds: timeoutSeconds) { bytes in
                for chunk in bytes.chunks(ofCount: Self.pieceBytes) {
                    try self.checkAlive()
                    let isThere = pieces.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    guard isThere else {
                        throw TransportError(.answerLost, "The simulation cut the download.")
                    }
                    let piece = Array(chunk)
                    try await receive(self.mutation?.changed(piece: piece) ?? piece)
                }
            }
        }
    }
}

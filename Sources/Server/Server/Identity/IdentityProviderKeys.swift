import AsyncHTTPClient
import Foundation
import NIOCore

/// Where the public keys of an identity provider are: at an address, or in a file.
public struct IdentityProviderKeys: Sendable {
    /// Keys that cannot be had.
    public struct Unavailable: Error {
        public var httpStatus: UInt
    }

    /// Bytes of a set of keys at the most.
    private static let maximumBytes = 1_000_000
    private static let timeoutSeconds: Int64 = 10

    private let place: String

    /// - Parameter place: `https://…`, `http://…` of this machine, or a path.
    /// - Returns: nil for an address that is neither.
    public init?(_ place: String) {
        if place.contains("://"), !place.hasPrefix("https://") {
            let host = place.dropFirst("http://".count).prefix { $0 != ":" && $0 != "/" }
            guard place.hasPrefix("http://"), host == "127.0.0.1" || host == "localhost" else {
                return nil
            }
        }
        self.place = place
    }

    /// Reads the keys anew.
    public func fetch() async throws -> String {
        guard place.contains("://") else {
            return try String(contentsOfFile: place, encoding: .utf8)
        }
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: place), timeout: .seconds(Self.timeoutSeconds))
        guard response.status == .ok else {
            throw Unavailable(httpStatus: response.status.code)
        }
        return String(buffer: try await response.body.collect(upTo: Self.maximumBytes))
    }
}

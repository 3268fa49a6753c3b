import AsyncHTTPClient
import Foundation
import NIOCore

/// The place of an identity provider's public keys: an address or a file.
package struct IdentityProviderKeys: Sendable {
    /// The address answered with another status than 200.
    package struct Unavailable: Error {
        package var httpStatus: UInt
    }

    /// The most bytes of a set of keys.
    private static let maximumBytes = 1_000_000
    /// Seconds that a request for the keys may take: a sign-in waits for it.
    private static let timeoutSeconds: Int64 = 10

    private let place: String

    /// - Parameter place: An `https://…` address, an `http://…` address of this machine, or a path.
    /// - Returns: Nil for any other address.
    package init?(_ place: String) {
        if place.contains("://"), !place.hasPrefix("https://") {
            let host = place.dropFirst("http://".count).prefix { $0 != ":" && $0 != "/" }
            guard place.hasPrefix("http://"), host == "127.0.0.1" || host == "localhost" else {
                return nil
            }
        }
        self.place = place
    }

    /// Reads the keys from the file or the address.
    package func fetch() async throws -> String {
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

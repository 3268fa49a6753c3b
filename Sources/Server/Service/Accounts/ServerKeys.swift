import Crypto
import StratusRecords
import StratusStorage
import Synchronization

/// Server-to-server keys and the signatures that were used: each is valid for one request, which may be repeated where
/// its endpoint allows that.
///
/// A signature is remembered until its date has left the window. That memory is lost with the process. Therefore the
/// directory keeps, per key, a date up to which signatures may have been accepted, a few seconds ahead of the newest;
/// after a restart, only signatures with a later date are accepted.
final class ServerKeys: Sendable {
    /// A key that is ready for checking signatures.
    struct Known: Sendable {
        var row: ServerKeyRow
        var publicKey: P256.Signing.PublicKey
        /// Whether the user as whom it writes is disabled.
        var isDisabled: Bool
    }

    /// The most signatures that are remembered, for all keys: some 300 requests a second.
    private static let capacity = 400_000
    /// How far ahead the date in the directory is set, so that it is rarely written.
    private static let stepMilliseconds: Int64 = 5_000

    private struct State {
        /// The r of each used signature by the minute of its date, with a hash of the address that it came
        /// with: a signature need not cover the query.
        var used: [Int64: [[UInt8]: Int]] = [:]
        var count = 0
        /// Per key: signatures up to this date were made before this process started.
        var spentBefore: [String: Int64] = [:]
        /// Per key: the date that the directory has, or that is being written there.
        var spent: [String: Int64] = [:]

        /// A minute is kept until its last second has left the window.
        mutating func forget(before milliseconds: Int64) {
            for minute in used.keys where (minute + 1) * 60_000 <= milliseconds {
                count -= used.removeValue(forKey: minute)?.count ?? 0
            }
        }
    }

    private let directory: any Directory
    private let state = Mutex(State())

    init(directory: any Directory) {
        self.directory = directory
    }

    /// Parses a public key.
    ///
    /// - Throws: ``ServiceError`` unless it is a P-256 public key as PEM.
    static func publicKey(_ pem: String) throws -> P256.Signing.PublicKey {
        do {
            return try P256.Signing.PublicKey(pemRepresentation: pem)
        } catch {
            throw ServiceError.invalid(
                "The text is not a P-256 public key in PEM; give one as `openssl ec"
                    + " -pubout` writes it.")
        }
    }

    /// Accepts a signature.
    ///
    /// - Parameter mayRepeat: Whether the same request may be sent again: a client that received no answer cannot do
    ///   otherwise.
    /// - Returns: The identifier of the request.
    /// - Throws: ``ServiceError`` with AUTHENTICATION_FAILED, the same for every cause.
    func accept(
        _ signature: RequestSignature, of key: Known, at address: ContainerAddress,
        mayRepeat: Bool, nowMilliseconds now: Int64
    ) async throws -> [UInt8] {
        guard key.row.address == address, signature.isTimely(nowMilliseconds: now),
            let date = signature.milliseconds, let name = signature.check(with: key.publicKey)
        else { throw ServiceError.authenticationFailed }
        let identifier = key.row.identifier
        let mustWrite = try state.withLock { state -> Int64? in
            let spentThrough = state.spentBefore[identifier] ?? key.row.spentThroughMilliseconds
            state.spentBefore[identifier] = spentThrough
            guard mayRepeat || date > spentThrough else {
                throw ServiceError.authenticationFailed
            }
            state.forget(before: now - RequestSignature.windowMilliseconds)
            let target = signature.target.hashValue
            if let used = state.used[date / 60_000]?[name] {
                guard mayRepeat, used == target else { throw ServiceError.authenticationFailed }
                return nil
            }
            guard state.count < Self.capacity else {
                throw ServiceError(
                    .throttled,
                    "Too many signed requests came within the last minutes; send fewer.",
                    retryAfterSeconds: 60)
            }
            state.used[date / 60_000, default: [:]][name] = target
            state.count += 1
            guard date > state.spent[identifier] ?? spentThrough else { return nil }
            state.spent[identifier] = date + Self.stepMilliseconds
            return date + Self.stepMilliseconds
        }
        // Written before the answer, so that an accepted signature stays known after a crash.
        if let mustWrite { try await directory.spend(serverKey: identifier, through: mustWrite) }
        return name
    }
}

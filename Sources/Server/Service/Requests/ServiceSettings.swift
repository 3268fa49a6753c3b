import Logging
import StratusRecords

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a service is told at its start. Everything nondeterministic is here.
public struct ServiceSettings: Sendable {
    public var limits: Limits

    /// Containers and users come into being on first use, and the API token ``developmentToken`` is
    /// good everywhere. Never for real data.
    public var isForDevelopment: Bool

    /// Whether senders that ask too fast are refused (`Throttle`). A service for development takes
    /// whatever comes unless told otherwise, so that no test is throttled by accident.
    public var isThrottled: Bool

    /// How people get accounts.
    public var accounts = AccountSettings()

    /// The time, in milliseconds since 1970.
    public var nowMilliseconds: @Sendable () -> Int64

    /// As many random bytes as asked for.
    public var randomBytes: @Sendable (_ count: Int) -> [UInt8]

    /// Waits for seconds; throws when its task is cancelled.
    public var sleep: @Sendable (_ seconds: Double) async throws -> Void

    public var logger: Logger

    /// Apple's push service; nil when notifications go to long polls only.
    public var pushDelivery: (any PushDelivery)?

    /// The API token of a service that runs for development.
    public static let developmentToken = "development"

    /// How long the outcome of an operation is kept for when it is repeated, in seconds: the seven days
    /// after which `CKOperation` gives up.
    static let outcomeSeconds: Int64 = 7 * 24 * 3600

    public init(
        isForDevelopment: Bool, limits: Limits = Limits(), isThrottled: Bool? = nil,
        nowMilliseconds: @escaping @Sendable () -> Int64 = Self.systemMilliseconds,
        randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8] = Self.systemRandomBytes,
        sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void = {
            try await Task.sleep(for: .seconds($0))
        },
        logger: Logger = Logger(label: "stratus.service"),
        pushDelivery: (any PushDelivery)? = nil
    ) {
        self.isForDevelopment = isForDevelopment
        self.limits = limits
        self.isThrottled = isThrottled ?? !isForDevelopment
        self.nowMilliseconds = nowMilliseconds
        self.randomBytes = randomBytes
        self.sleep = sleep
        self.logger = logger
        self.pushDelivery = pushDelivery
    }

    /// The live clock.
    public static let systemMilliseconds: @Sendable () -> Int64 = {
        Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
    }

    /// The live random source.
    public static let systemRandomBytes: @Sendable (_ count: Int) -> [UInt8] = { count in
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// A random identifier of 32 hexadecimal digits.
    func newIdentifier() -> String {
        Self.hexadecimal(randomBytes(16))
    }

    /// A random UUID (version 4, RFC 9562), in capitals as Apple's platforms print them.
    func newUUID() -> String {
        var bytes = randomBytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Self.uuidText(bytes)
    }

    /// 16 bytes as the text of a UUID.
    static func uuidText(_ bytes: [UInt8]) -> String {
        let digits = hexadecimal(bytes).uppercased()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

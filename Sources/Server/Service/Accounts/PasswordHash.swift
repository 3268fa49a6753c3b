import Crypto
import CryptoExtras
import Dispatch
import StratusRecords
import StratusRuntime
import Synchronization

/// A password as it is stored: `$scrypt$ln=15,r=8,p=3$<salt>$<key>`, the salt and key in base64.
public struct PasswordHash: Hashable, Sendable {
    /// What one guess costs: `128 · 2^logRounds · blockSize` bytes of memory, `parallelism` times.
    public struct Cost: Hashable, Sendable {
        /// The binary logarithm of scrypt's cost parameter N (RFC 7914); 1 to 20 in a stored hash.
        public let logRounds: Int
        /// Scrypt's parameter r; 1 to 32 in a stored hash.
        public let blockSize: Int
        /// Scrypt's parameter p; 1 to 16 in a stored hash.
        public let parallelism: Int

        fileprivate static let logRoundsBounds = 1...20
        fileprivate static let blockSizeBounds = 1...32
        fileprivate static let parallelismBounds = 1...16

        /// The memory that hashing takes.
        var bytes: Int { 128 * blockSize << logRounds }

        /// Makes a cost. Values outside their bounds are a programming error and stop the program: no user could sign
        /// in with a hash that is stored with them.
        public init(logRounds: Int, blockSize: Int, parallelism: Int) {
            precondition(
                Self.logRoundsBounds.contains(logRounds) && Self.blockSizeBounds.contains(blockSize)
                    && Self.parallelismBounds.contains(parallelism),
                "A password's cost is outside its bounds: rounds 1 to 20, block size 1 to 32, parallelism 1 to 16."
            )
            self.logRounds = logRounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// 32 MB and about a quarter of a second: one of the equivalent choices of OWASP's Password
        /// Storage Cheat Sheet.
        public static let standard = Cost(logRounds: 15, blockSize: 8, parallelism: 3)
    }

    private static let saltBytes = 16
    private static let keyBytes = 32

    var cost: Cost
    var salt: [UInt8]
    var key: [UInt8]

    /// Hashes a password; takes as long as the cost says, on the caller's thread.
    init(_ password: String, salt: [UInt8], cost: Cost) throws {
        self.cost = cost
        self.salt = salt
        key = try Self.key(password, salt: salt, cost: cost)
    }

    static func newSalt(_ world: World) -> [UInt8] {
        world.randomBytes(saltBytes)
    }

    func matches(_ password: String) throws -> Bool {
        let other = try Self.key(password, salt: salt, cost: cost)
        return isEqualInConstantTime(other, key)
    }

    private static func key(_ password: String, salt: [UInt8], cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: salt, outputByteCount: keyBytes,
            rounds: 1 << cost.logRounds, blockSize: cost.blockSize, parallelism: cost.parallelism)
        return key.withUnsafeBytes { Array($0) }
    }
}

extension PasswordHash {
    var text: String {
        "$scrypt$ln=\(cost.logRounds),r=\(cost.blockSize),p=\(cost.parallelism)"
            + "$\(Base64.text(salt))$\(Base64.text(key))"
    }

    /// Reads a stored hash; nil when the text is not one, or its cost is out of bounds.
    init?(text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
            let salt = Base64.bytes(String(parts[3])), let key = Base64.bytes(String(parts[4])),
            !salt.isEmpty, key.count == Self.keyBytes
        else { return nil }
        var numbers: [Substring: Int] = [:]
        for pair in parts[2].split(separator: ",") {
            let halves = pair.split(separator: "=")
            guard halves.count == 2, let number = Int(halves[1]) else { return nil }
            numbers[halves[0]] = number
        }
        guard let logRounds = numbers["ln"], Cost.logRoundsBounds.contains(logRounds),
            let blockSize = numbers["r"], Cost.blockSizeBounds.contains(blockSize),
            let parallelism = numbers["p"], Cost.parallelismBounds.contains(parallelism)
        else { return nil }
        cost = Cost(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism)
        self.salt = salt
        self.key = key
    }
}

import Algorithms
import StratusRecords
import StratusStorage

/// Lets a person in who forgot the password: 26 letters and digits, derived from the service's signing key and the
/// password's hash. It is not stored, and is valid until the password changes.
struct RecoveryCode: Hashable {
    /// Crockford's base32: it has no letter that looks like a digit.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    private static let bytes = 16
    private static let groupLength = 5

    private let letters: String

    /// - Returns: nil for a user without a password.
    init?(of user: UserRow, signer: TokenSigner) {
        guard let hash = user.passwordHash else { return nil }
        let code = signer.code(
            of: Array("\(user.recordName)\n\(hash)".utf8), for: .recoveryCode)
        var text = ""
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in code.prefix(Self.bytes) {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(Self.alphabet[Int(bits >> count & 31)])
            }
        }
        text.append(Self.alphabet[Int(bits << (5 - count) & 31)])
        letters = text
    }

    /// The code in groups, as a person copies it.
    var text: String {
        letters.chunks(ofCount: Self.groupLength).joined(separator: "-")
    }

    /// Compares in constant time; hyphens, spaces and the case of letters do not matter.
    func matches(_ typed: String) -> Bool {
        guard typed.utf8.count <= 100 else { return false }
        let plain = typed.uppercased().filter { $0 != "-" && $0 != " " }
            .replacing("O", with: "0").replacing("I", with: "1").replacing("L", with: "1")
        return isEqualInConstantTime(plain.utf8, letters.utf8)
    }
}

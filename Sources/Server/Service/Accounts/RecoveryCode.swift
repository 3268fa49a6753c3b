import Algorithms
import StratusRecords
import StratusStorage

/// The code with which a person who forgot the password sets a new one: 26 letters and digits, derived from the
/// service's signing key and the password's hash. It is not stored, and is valid until the password changes.
struct RecoveryCode: Hashable {
    private static let bytes = 16
    private static let groupLength = 5

    private let letters: String

    /// - Returns: nil for a user without a password.
    init?(of user: UserRow, signer: TokenSigner) {
        guard let hash = user.passwordHash else { return nil }
        let code = signer.code(
            of: Array("\(user.recordName)\n\(hash)".utf8), for: .recoveryCode)
        letters = CrockfordBase32.text(code.prefix(Self.bytes))
    }

    /// The code in groups, as a person copies it.
    var text: String {
        letters.chunks(ofCount: Self.groupLength).joined(separator: "-")
    }

    /// Compares in constant time; hyphens, spaces and the case of letters do not matter.
    func matches(_ typed: String) -> Bool {
        guard typed.utf8.count <= 100 else { return false }
        return isEqualInConstantTime(CrockfordBase32.normalized(typed).utf8, letters.utf8)
    }
}

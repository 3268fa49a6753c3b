import Crypto
import StratusRecords
import StratusStorage

/// Shows that the person at an account's page entered the password a short time ago, in this browser.
///
/// It is only in the page's forms, is bound to the browser's cookie, and is valid until the password changes: no page
/// of an account has an address that could be opened again.
///
/// Format 1, before sealing: the byte 1, the user's record name, the mark of the password and the secret of the cookie
/// as counted strings, and the time of issue in milliseconds since 1970 as eight bytes.
struct AccountProof: SealedText, Hashable {
    static let purpose = TokenSigner.Purpose.accountProof
    static let isInAddresses = true
    /// Seconds for which a page of an account is valid.
    static let seconds: Int64 = 900

    var userRecordName: String
    var passwordMark: String
    var secret: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(userRecordName)
        writer.write(passwordMark)
        writer.write(secret)
        writer.write(number: issuedMilliseconds)
    }

    /// A mark that differs for each password and reveals nothing of it.
    static func mark(of user: UserRow) -> String {
        let digest = SHA256.hash(data: Array((user.passwordHash ?? "").utf8))
        return Base64.addressText(Array(digest.prefix(12)))
    }
}

extension AccountProof {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        try reader.expect(Self.format)
        userRecordName = try reader.string()
        passwordMark = try reader.string()
        secret = try reader.string()
        issuedMilliseconds = try reader.number()
    }
}

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
        stride(from: 0, to: letters.count, by: Self.groupLength).map {
            letters.dropFirst($0).prefix(Self.groupLength)
        }.joined(separator: "-")
    }

    /// Compares in constant time; hyphens, spaces and the case of letters do not matter.
    func matches(_ typed: String) -> Bool {
        guard typed.utf8.count <= 100 else { return false }
        let plain = typed.uppercased().filter { $0 != "-" && $0 != " " }
            .replacing("O", with: "0").replacing("I", with: "1").replacing("L", with: "1")
        return plain.utf8.count == letters.utf8.count
            && zip(plain.utf8, letters.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

import Crypto
import StratusRecords
import StratusStorage

/// The proof of a sign-in: it is sent with each request and replaced with every answer.
///
/// Format 1, before signing: the byte 1, the session's identifier as a counted string, and the time of issue in
/// milliseconds since 1970 as eight bytes. The text is URL-safe base64.
struct WebAuthToken: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.webAuthToken
    static let isInAddresses = true

    var session: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(session)
        writer.write(number: issuedMilliseconds)
    }
}

extension WebAuthToken {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        try reader.expect(Self.format)
        session = try reader.string()
        issuedMilliseconds = try reader.number()
    }
}

/// The contents of a redirectURL, from the refused request to the sign-in page and back: the container, environment and
/// API token for which a person signs in.
///
/// Format 1, before signing: the byte 1, container, environment and API token as counted strings, the origin of the
/// page that asked as an optional string, and the time of issue in milliseconds since 1970 as eight bytes. The text is
/// URL-safe base64.
struct SignInRequest: SignedText, Hashable, Sendable {
    static let purpose = TokenSigner.Purpose.signInRequest
    static let isInAddresses = true

    var address: ContainerAddress
    var apiToken: String
    /// The Origin header of the refused request; nil if it did not come from a browser.
    var origin: String?
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(address.container)
        writer.write(address.environment.rawValue)
        writer.write(apiToken)
        writer.write(origin)
        writer.write(number: issuedMilliseconds)
    }
}

extension SignInRequest {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        try reader.expect(Self.format)
        address = ContainerAddress(
            container: try reader.string(), environment: try reader.environment())
        apiToken = try reader.string()
        origin = try reader.optionalString()
        issuedMilliseconds = try reader.number()
    }
}

/// Shows that a form was filled in on a page of this service, in the browser that got the page.
///
/// The page's form contains the signed token, and its cookie the secret in it: another site can neither read the one
/// nor set the other.
struct FormToken: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.formToken
    static let isInAddresses = true

    var secret: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    func write(to writer: inout ByteWriter) {
        writer.write(secret)
        writer.write(number: issuedMilliseconds)
    }
}

extension FormToken {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        secret = try reader.string()
        issuedMilliseconds = try reader.number()
    }
}

/// Shows that the person at an account's page entered the password a short time ago, in this browser.
///
/// It is only in the page's forms, is bound to the browser's cookie, and is valid until the password changes: no page
/// of an account has an address that could be opened again.
///
/// Format 1, before signing: the byte 1, the user's record name, the mark of the password and the secret of the cookie
/// as counted strings, and the time of issue in milliseconds since 1970 as eight bytes.
struct AccountProof: SignedText, Hashable {
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

    /// A mark that differs for each password and reveals nothing about it.
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

import StratusRecords

/// Why a sign-in was refused, as a sentence that a page shows.
public struct SignInRefusal: Error, Hashable, Sendable {
    /// The kind of refusal. The set is open.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Unknown account or wrong password: the person does not learn which.
        public static let wrong = Self(rawValue: "wrong")
        /// Too many attempts for the account or from the address.
        public static let tooMany = Self(rawValue: "tooMany")
        /// Too many passwords wait to be checked; another attempt may succeed in a few seconds.
        public static let busy = Self(rawValue: "busy")
        /// The account is disabled; only those who enter the right password or code find out.
        public static let disabled = Self(rawValue: "disabled")
        /// The e-mail address, the password or a name is not acceptable for an account.
        public static let badInput = Self(rawValue: "badInput")
        /// There is already an account with the e-mail address.
        public static let taken = Self(rawValue: "taken")
        /// People cannot make accounts themselves on this service (``AccountSettings/SignUp/closed``).
        public static let closed = Self(rawValue: "closed")
        /// The app asked for the token at an address that its API token does not allow.
        public static let foreignCallback = Self(rawValue: "foreignCallback")
        /// The form or the address of the page is too old, or belongs to another browser.
        public static let expired = Self(rawValue: "expired")
    }

    /// The kind of refusal, for programs.
    public var code: Code
    /// What happened and what to do, in sentences for the person who signs in.
    public var sentence: String
    /// After how many seconds another attempt may succeed; nil when the refusal names no time.
    public var retryAfterSeconds: Double?

    init(_ code: Code, _ sentence: String, retryAfterSeconds: Double? = nil) {
        self.code = code
        self.sentence = sentence
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// The HTTP status of a page that shows it.
    package var httpStatus: Int {
        switch code {
        case .tooMany: 429
        case .busy: 503
        case .disabled, .closed, .foreignCallback: 403
        default: 400
        }
    }

    /// The refusal as an error of the protocol, for programs.
    var serviceError: ServiceError {
        switch code {
        case .tooMany:
            ServiceError(
                .throttled, sentence, retryAfterSeconds: retryAfterSeconds,
                frameworkCode: .requestRateLimited)
        case .busy: ServiceError(.tryAgainLater, sentence, retryAfterSeconds: retryAfterSeconds)
        case .disabled: .accountDisabled
        default: ServiceError(.authenticationFailed, sentence, stratusCode: .signInRefused)
        }
    }

    static let wrong = Self(
        .wrong, "The e-mail address or the password is not right. Type both again.")
    static let busy = Self(
        .busy, "Many people are signing in. Try again in a few seconds.", retryAfterSeconds: 5)
    static let disabled = Self(
        .disabled, "This account is disabled. Ask the operator of the service.")
    static let badEmailAddress = Self(
        .badInput, "The e-mail address is not valid. Type one such as ida@example.org.")
    static let badPassword = Self(
        .badInput, "The password does not have 8 to 256 characters. Choose another.")
    static let badName = Self(
        .badInput, "The name has more than 100 characters. Give a shorter one.")
    static let taken = Self(
        .taken, "There is an account with this e-mail address. Sign in, or use another address.")
    /// The refusal of a sign-up where people cannot make accounts themselves.
    public static let closed = Self(
        .closed, "The sign-up is closed. Ask the operator of the service for an account.")
    /// The refusal of a sign-in page that is too old or was opened in another browser.
    public static let expired = Self(
        .expired, "This page has expired. Go back to the app and sign in again.")

    static let wrongCode = Self(
        .wrong, "The e-mail address or the recovery code is not right. Type both again.")
    static let pageExpired = Self(
        .expired, "This page has expired. Enter your password again at /auth/account.")
    static let archiveUnderWay = Self(
        .tooMany, "Your data is being downloaded already. Wait until the download has ended.",
        retryAfterSeconds: 10)
    static let foreignCallback = Self(
        .foreignCallback,
        "The app asks for your sign-in at an address that its API token does not allow. The "
            + "operator of the service makes tokens for apps with `stratus token create --loopback` or "
            + "--callback-url."
    )

    static func tooMany(_ seconds: Double) -> Self {
        Self(
            .tooMany, "There were too many wrong passwords or codes. Try again in a few minutes.",
            retryAfterSeconds: seconds)
    }
}

import StratusRecords

/// How people get accounts.
public struct AccountSettings: Sendable {
    /// Who may make an account on the sign-up page.
    public enum SignUp: String, Hashable, Sendable, CaseIterable {
        /// Anyone can make an account.
        case open
        /// Only the operator makes accounts.
        case closed
    }

    /// Whether people can make accounts themselves; closed by default.
    public var signUp: SignUp

    /// Whether an e-mail address that a person enters at the sign-up counts as verified. The service sends no mail, so
    /// it cannot check; when this is false, the operator marks addresses as verified.
    public var trustsEmailAddresses: Bool

    /// What a new password's hash costs.
    public var passwordCost: PasswordHash.Cost

    /// Whose identity tokens are exchanged for sign-ins (OpenID Connect).
    public var identityProviders: [IdentityProvider]

    /// Makes settings; by default sign-up is closed and there are no identity providers.
    public init(
        signUp: SignUp = .closed, trustsEmailAddresses: Bool = false,
        passwordCost: PasswordHash.Cost = .standard, identityProviders: [IdentityProvider] = []
    ) {
        self.signUp = signUp
        self.trustsEmailAddresses = trustsEmailAddresses
        self.passwordCost = passwordCost
        self.identityProviders = identityProviders
    }
}

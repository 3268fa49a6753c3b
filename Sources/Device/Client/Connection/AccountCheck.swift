/// Checks that the account is still the one for which the current request is made.
///
/// A transport calls it after reading the token that it sends. A change of the account is counted before the next token
/// is set, so a request that passes the check is sent with the token of its own account.
package struct AccountCheck: Sendable {
    /// The check of the request that the current task makes; nil if the request is bound to no account.
    ///
    /// A task-local value, for the reasons that ``AnswerTime/listener`` states.
    @TaskLocal package static var current: AccountCheck?

    private let check: @Sendable () throws -> Void

    package init(_ check: @escaping @Sendable () throws -> Void) { self.check = check }

    /// - Throws: `CKError.notAuthenticated` when the account changed since the operation began.
    package func callAsFunction() throws { try check() }
}

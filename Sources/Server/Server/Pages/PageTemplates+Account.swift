extension PageTemplates {
    static let accountOpen = titled(
        "Your account",
        """
        <form method="post" action="/auth/account">
        <input type="hidden" name="form" value="{{form}}">
        <input type="hidden" name="action" value="open">
        \(emailField)
        \(passwordField)
        <button type="submit">Go on</button>
        </form>
        <p><a href="/auth/recover">I forgot my password</a></p>
        """)

    /// The hidden fields of every form on the account's page.
    private static let hidden = """
        <input type="hidden" name="form" value="{{form}}">\
        <input type="hidden" name="proof" value="{{proof}}">
        """

    static let account = titled(
        "Your account",
        """
        <p><strong>{{name}}</strong></p>
        {{#notice}}<p role="status">{{notice}}</p>{{/notice}}
        {{#code}}<p>Your recovery code. Keep it apart from your password; it is valid until your password \
        changes.</p>
        <p><strong>{{code}}</strong></p>{{/code}}
        <h2>Where you are signed in</h2>
        {{^sessions}}<p>Nowhere.</p>{{/sessions}}
        {{#sessions}}<form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="end-session">
        <input type="hidden" name="session" value="{{session}}">
        <p>{{device}}, {{app}}, since {{created}}, last used {{used}}</p>
        <button type="submit">Sign out there</button>
        </form>
        {{/sessions}}
        <h2>Password</h2>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="change-password">
        <label for="old">Current password</label>
        <input id="old" name="password" type="password" autocomplete="current-password" required>
        <label for="new">New password (8 characters or more)</label>
        <input id="new" name="new" type="password" autocomplete="new-password" minlength="8" required>
        <button type="submit">Change it, and sign out everywhere</button>
        </form>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="recovery-code">
        <button type="submit">Show my recovery code</button>
        </form>
        <h2>Data</h2>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="export">
        <button type="submit">Download all my data</button>
        </form>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="delete">
        <button type="submit">Delete my account…</button>
        </form>
        """)

    static let accountDelete = titled(
        "Delete my account",
        """
        <p>Everything that apps keep for <strong>{{name}}</strong> here is deleted, and cannot be brought back. \
        People with whom you shared something lose access to it; what others shared with you stays theirs.</p>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="delete-now">
        \(passwordField)
        <label><input type="checkbox" name="sure" value="1" required> I want all of it deleted</label>
        <button type="submit">Delete my account and my data</button>
        </form>
        <p><a href="/auth/account">No</a></p>
        """)

    static let recover = titled(
        "A new password",
        """
        <p>With the recovery code that your account's page showed you. Without it, ask the operator of the \
        service: there is a command for it.</p>
        <form method="post" action="/auth/recover">
        <input type="hidden" name="form" value="{{form}}">
        \(emailField)
        <label for="code">Recovery code</label>
        <input id="code" name="code" autocomplete="off" required>
        <label for="password">New password (8 characters or more)</label>
        <input id="password" name="password" type="password" autocomplete="new-password" \
        minlength="8" required>
        <button type="submit">Change it, and sign out everywhere</button>
        </form>
        """)
}

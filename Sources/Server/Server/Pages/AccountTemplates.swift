extension PageTemplates {
    static let accountOpen = """
        {{<page}}
        {{$title}}Your account{{/title}}
        {{$main}}
        <h1>Your account</h1>
        <form method="post" action="/auth/account">
        <input type="hidden" name="form" value="{{form}}">
        <input type="hidden" name="action" value="open">
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="username" required value="{{email}}">
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required>
        <button type="submit">Go on</button>
        </form>
        <p><a href="/auth/recover">I forgot my password</a></p>
        {{/main}}
        {{/page}}
        """

    /// The hidden fields of every form on the account's page.
    private static let hidden = """
        <input type="hidden" name="form" value="{{form}}">\
        <input type="hidden" name="proof" value="{{proof}}">
        """

    static let account = """
        {{<page}}
        {{$title}}Your account{{/title}}
        {{$main}}
        <h1>Your account</h1>
        <p><strong>{{name}}</strong></p>
        {{#notice}}<p role="status">{{notice}}</p>{{/notice}}
        {{#code}}<p>Your recovery code. Keep it where you keep no password; it is good until your password \
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
        <label for="old">Password so far</label>
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
        {{/main}}
        {{/page}}
        """

    static let accountDelete = """
        {{<page}}
        {{$title}}Delete my account{{/title}}
        {{$main}}
        <h1>Delete my account</h1>
        <p>Everything that apps keep for <strong>{{name}}</strong> here is deleted, and cannot be brought back. \
        What you shared ends for the others; what others shared with you stays theirs.</p>
        <form method="post" action="/auth/account">
        \(hidden)
        <input type="hidden" name="action" value="delete-now">
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required>
        <label><input type="checkbox" name="sure" value="1" required> I want all of it deleted</label>
        <button type="submit">Delete my account and my data</button>
        </form>
        <p><a href="/auth/account">No</a></p>
        {{/main}}
        {{/page}}
        """

    static let recover = """
        {{<page}}
        {{$title}}A new password{{/title}}
        {{$main}}
        <h1>A new password</h1>
        <p>With the recovery code that your account's page showed you. Without it, ask who runs the \
        service: there is a command for it.</p>
        <form method="post" action="/auth/recover">
        <input type="hidden" name="form" value="{{form}}">
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="username" required value="{{email}}">
        <label for="code">Recovery code</label>
        <input id="code" name="code" autocomplete="off" required>
        <label for="password">New password (8 characters or more)</label>
        <input id="password" name="password" type="password" autocomplete="new-password" \
        minlength="8" required>
        <button type="submit">Change it, and sign out everywhere</button>
        </form>
        {{/main}}
        {{/page}}
        """
}

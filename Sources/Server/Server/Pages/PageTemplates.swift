/// The templates of the pages for people (mustache). Style and script are the same on every page, so
/// that the pages' security policy can name their hashes.
enum PageTemplates {
    static let style = """
        body{font:1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;\
        color:#1b1b1b;background:#fff}label{display:block;margin-top:1rem}\
        input:not([type=checkbox]){display:block;width:100%;box-sizing:border-box;font:inherit;\
        padding:.5rem;border:1px solid #767676;border-radius:.3rem}\
        button{font:inherit;margin-top:1.5rem;padding:.6rem 1.2rem;border:0;border-radius:.3rem;\
        background:#0b5cad;color:#fff}.refusal{border-left:.3rem solid #b00020;padding-left:.7rem}\
        @media(prefers-color-scheme:dark){body{color:#eee;background:#161616}a{color:#8ec5ff}}
        """

    /// Posts the token, or the reason why there is none, to the page that opened this one.
    static let script = """
        const d=document.body.dataset;if(window.opener&&d.origins){\
        const m=d.token?{ckSession:d.token,ckWebAuthToken:d.token}:{errorMessage:d.error};\
        for(const o of d.origins.split(" "))window.opener.postMessage(m,o);if(d.token)window.close()}
        """

    static let page = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>{{$title}}Stratus{{/title}}</title>
        <style>\(style)</style>
        </head>
        <body{{#openerOrigins}} data-origins="{{openerOrigins}}"{{/openerOrigins}}\
        {{#token}} data-token="{{token}}"{{/token}}{{#error}} data-error="{{error}}"{{/error}}>
        <main>
        {{#refusal}}<p class="refusal" role="alert">{{refusal}}</p>{{/refusal}}
        {{$main}}{{/main}}
        </main>
        {{#openerOrigins}}<script>\(script)</script>{{/openerOrigins}}
        </body>
        </html>
        """

    /// A template of a page: its title, which is also its heading, and what follows that.
    static func titled(_ title: String, _ content: String) -> String {
        """
        {{<page}}
        {{$title}}\(title){{/title}}
        {{$main}}
        <h1>\(title)</h1>
        \(content)
        {{/main}}
        {{/page}}
        """
    }

    static let emailField = """
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="username" required value="{{email}}">
        """

    /// The password of a person who has an account.
    static let passwordField = """
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required>
        """

    /// The hidden fields of a form that signs in to an app.
    private static let signInFields = """
        <input type="hidden" name="form" value="{{form}}">
        <input type="hidden" name="request" value="{{request}}">
        <input type="hidden" name="callback" value="{{callback}}">
        <input type="hidden" name="state" value="{{state}}">
        """

    /// What a person may choose when signing in to an app.
    private static let wishes = """
        <label><input type="checkbox" name="stay" value="1"{{#stays}} checked{{/stays}}> \
        Stay signed in for two weeks</label>
        <label><input type="checkbox" name="discoverable" value="1"> Others who use this app may find me \
        by my e-mail address</label>
        """

    static let signIn = titled(
        "Sign in",
        """
        <p>to <strong>{{app}}</strong></p>
        <form method="post" action="/auth/sign-in">
        \(signInFields)
        \(emailField)
        \(passwordField)
        \(wishes)
        <button type="submit">Sign in</button>
        </form>
        <p><a href="/auth/recover">I forgot my password</a></p>
        {{#isSignUpOpen}}<p><a href="/auth/sign-up?request={{request}}{{way}}">Create an account</a></p>\
        {{/isSignUpOpen}}
        """)

    static let signUp = titled(
        "Create an account",
        """
        <p>and sign in to <strong>{{app}}</strong></p>
        <form method="post" action="/auth/sign-up">
        \(signInFields)
        <label for="given">Given name</label>
        <input id="given" name="given" autocomplete="given-name" maxlength="100" value="{{given}}">
        <label for="family">Family name</label>
        <input id="family" name="family" autocomplete="family-name" maxlength="100" value="{{family}}">
        \(emailField)
        <label for="password">Password (8 characters or more)</label>
        <input id="password" name="password" type="password" autocomplete="new-password" \
        minlength="8" required>
        \(wishes)
        <button type="submit">Create the account</button>
        </form>
        <p><a href="/auth/sign-in?request={{request}}{{way}}">I have an account</a></p>
        """)

    static let signOut = titled(
        "Sign out",
        """
        <form method="post" action="/auth/sign-out">
        <input type="hidden" name="form" value="{{form}}">
        <input type="hidden" name="token" value="{{sessionToken}}">
        <button type="submit">Sign out</button>
        </form>
        """)

    static let message = titled(
        "{{heading}}",
        """
        {{#sentence}}<p>{{sentence}}</p>{{/sentence}}
        """)
}

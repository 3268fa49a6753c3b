import HTTPTypes
import Hummingbird
import NIOCore

extension Routes {
    /// `GET /share/{shortGUID}` is what a share's link opens in a browser: the same page for every
    /// link, valid or not. Only the app shows what is shared, to those whom it is shared with.
    func addSharePage(to router: Router<ServerContext>) {
        router.get("share/:shortGUID") { _, _ in
            var headers = HTTPFields()
            headers[.contentType] = "text/html; charset=UTF-8"
            headers[.cacheControl] = "no-store"
            headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'"
            return Response(
                status: .ok, headers: headers,
                body: .init(byteBuffer: ByteBuffer(string: Self.sharePage)))
        }
    }

    private static let sharePage = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <meta name="referrer" content="no-referrer">
        <title>An invitation</title>
        <style>body { font: 1.1em/1.5 sans-serif; max-width: 34em; margin: 4em auto; padding: 0 1em }</style>
        <h1>Something is shared with you</h1>
        <p>This link is an invitation. Open it in the app that the person who sent it uses,
        signed in with the account to which it was sent.</p>
        </html>
        """
}

import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Mustache
import NIOCore
import StratusRecords

/// The pages for people: plain HTML, whose only script posts to the page that opened it.
struct Pages: Sendable {
    private let library: MustacheLibrary

    /// - Throws: when a template is invalid, which the first test run shows.
    init() throws {
        library = MustacheLibrary(
            templates: [
                "page": try MustacheTemplate(string: PageTemplates.page),
                "sign-in": try MustacheTemplate(string: PageTemplates.signIn),
                "sign-up": try MustacheTemplate(string: PageTemplates.signUp),
                "sign-out": try MustacheTemplate(string: PageTemplates.signOut),
                "account-open": try MustacheTemplate(string: PageTemplates.accountOpen),
                "account": try MustacheTemplate(string: PageTemplates.account),
                "account-delete": try MustacheTemplate(string: PageTemplates.accountDelete),
                "recover": try MustacheTemplate(string: PageTemplates.recover),
                "message": try MustacheTemplate(string: PageTemplates.message),
            ])
    }

    /// A page.
    ///
    /// - Parameters:
    ///   - values: The values for the template's names; text is escaped.
    ///   - formTarget: An origin besides our own to which the form's answer may redirect.
    func response(
        _ template: String, _ values: [String: Any], status: HTTPResponse.Status = .ok,
        formTarget: String? = nil
    ) -> Response {
        let html = library.render(values, withTemplate: template) ?? ""
        var headers = HTTPFields()
        headers[.contentType] = "text/html; charset=UTF-8"
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'sha256-\(Self.hash(PageTemplates.style))'; "
            + "script-src 'sha256-\(Self.hash(PageTemplates.script))'; "
            + "form-action 'self'\(formTarget.map { " " + $0 } ?? ""); "
            + "base-uri 'none'; frame-ancestors 'none'"
        headers[.xContentTypeOptions] = "nosniff"
        // Not no-referrer: with it browsers send a form's origin as null.
        headers[.referrerPolicy] = "same-origin"
        return Response(
            status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: html)))
    }

    private static func hash(_ text: String) -> String {
        Base64.text(Array(SHA256.hash(data: Array(text.utf8))))
    }
}

extension HTTPField.Name {
    // The names are valid constants: an invalid literal fails the first test run.
    static let referrerPolicy = Self("Referrer-Policy") ?? .eTag
    static let forwardedFor = Self("X-Forwarded-For") ?? .eTag
}

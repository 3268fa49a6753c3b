import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// The pages on which people sign in, create an account and sign out.
///
/// A form is accepted only with its signed token, with the cookie that belongs to the token, and from a page of its own
/// origin (Decisions/0008).
struct SignInPages: Sendable {
    let routes: Routes
    let pages: Pages

    /// The most bytes of a form; it has an address, passwords or a code.
    private static let formBytes = 16_384

    var service: CloudService { routes.service }

    func add(to router: Router<ServerContext>) {
        for (path, template) in [("sign-in", "sign-in"), ("sign-up", "sign-up")] {
            router.get("auth/\(path)") { request, _ in
                await page(of: request) {
                    try await form(template, request, Fields(request))
                }
            }
            router.post("auth/\(path)") { request, context in
                await page(of: request) {
                    try await submitted(template, request, context)
                }
            }
        }
        addAccount(to: router)
        // An app that took its token sends the browser here, so that no address with a token stays visible.
        router.get("auth/signed-in") { request, _ in
            await page(of: request) {
                let place = try await service.signInPlace(Fields(request)["request"])
                return pages.response(
                    "message",
                    ["heading": "You are signed in", "sentence": Self.nextStep(place)])
            }
        }
        router.get("auth/sign-out") { request, _ in
            await page(of: request) {
                let token = request.uri.queryParameters["ckWebAuthToken"].map(String.init) ?? ""
                return try await show("sign-out", ["sessionToken": token], to: request)
            }
        }
        router.post("auth/sign-out") { request, _ in
            await page(of: request) {
                let fields = try await checkedFields(request)
                try await service.signOut(webAuthToken: fields["token"])
                return pages.response("message", ["heading": "You are signed out"])
            }
        }
    }

    // MARK: Forms

    private func form(
        _ template: String, _ request: Request, _ fields: Fields, refusal: SignInRefusal? = nil
    ) async throws -> Response {
        let place = try await place(fields)
        if template == "sign-up", !place.isSignUpOpen { throw SignInRefusal.closed }
        var values: [String: Any] = [
            "app": place.app, "request": fields["request"], "email": fields["email"],
            "given": fields["given"], "family": fields["family"],
            "callback": place.callback?.text ?? "", "state": place.state,
        ]
        if place.isForDevice {
            // Repeated in the links between the pages.
            values["way"] =
                "&callback=\(Self.escaped(fields["callback"]))&state=\(Self.escaped(place.state))"
            values["stays"] = true
        }
        if place.isSignUpOpen { values["isSignUpOpen"] = true }
        if let refusal { values["refusal"] = refusal.sentence }
        return try await show(
            template, values, to: request,
            status: refusal.map { .init(code: $0.httpStatus) } ?? .ok,
            retryAfterSeconds: refusal?.retryAfterSeconds,
            formTarget: place.callback?.source)
    }

    private func place(_ fields: Fields) async throws -> SignInPlace {
        try await service.signInPlace(
            fields["request"], callback: fields["callback"], state: fields["state"])
    }

    private static func escaped(_ text: String) -> String {
        PercentEncoding.text(text, keeping: PercentEncoding.isAlphanumeric)
    }

    private func submitted(
        _ template: String, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let fields = try await checkedFields(request)
        let place = try await place(fields)
        let form = SignInForm(
            emailAddress: fields["email"], password: fields["password"],
            givenName: fields["given"], familyName: fields["family"],
            staysSignedIn: fields["stay"] == "1",
            isDiscoverable: fields["discoverable"] == "1" ? true : nil,
            networkAddress: routes.networkAddress(of: request, context))
        do {
            let signIn = try await service.signIn(form, isNew: template == "sign-up", at: place)
            return handOver(signIn.webAuthToken, at: place)
        } catch let refusal as SignInRefusal {
            return try await self.form(template, request, fields, refusal: refusal)
        }
    }

    /// Gives the token to the app: redirects to its own address, or posts to the page that opened this one.
    private func handOver(_ token: String, at place: SignInPlace) -> Response {
        if let callback = place.callback {
            var response = Response(status: .seeOther)
            response.headers[.location] = callback.address(
                escapedToken: Self.escaped(token), state: place.state)
            response.headers[.cacheControl] = "no-store"
            response.headers[.referrerPolicy] = "no-referrer"
            return response
        }
        let origins = place.openerOrigins.isEmpty ? ["*"] : place.openerOrigins
        return pages.response(
            "message",
            [
                "heading": "You are signed in",
                "sentence": Self.nextStep(place),
                "openerOrigins": origins.joined(separator: " "), "token": token,
            ])
    }

    private static func nextStep(_ place: SignInPlace) -> String {
        "You can close this page and go back to \(place.app)."
    }

    // MARK: The guards of forms

    func show(
        _ template: String, _ values: [String: Any], to request: Request,
        status: HTTPResponse.Status = .ok, retryAfterSeconds: Double? = nil,
        formTarget: String? = nil
    ) async throws -> Response {
        let (token, secret) = try await service.formToken(
            secret: request.cookies[cookieName]?.value)
        var values = values
        values["form"] = token
        var response = pages.response(template, values, status: status, formTarget: formTarget)
        response.headers[.setCookie] =
            "\(cookieName)=\(secret); Path=/; HttpOnly; SameSite=Strict"
            + (routes.isSecure ? "; Secure" : "")
        if let retryAfterSeconds {
            response.headers[.retryAfter] = String(Int(retryAfterSeconds.rounded(.up)))
        }
        return response
    }

    var cookieName: String { routes.isSecure ? "__Host-stratus-form" : "stratus-form" }

    func checkedFields(_ request: Request) async throws -> Fields {
        guard isFromHere(request) else { throw SignInRefusal.expired }
        var limits = service.settings.limits
        limits.requestBodyBytes = Self.formBytes
        let fields = Fields(try await request.collectBody(limits))
        guard
            try await service.isOurs(
                formToken: fields["form"], secret: request.cookies[cookieName]?.value)
        else { throw SignInRefusal.expired }
        return fields
    }

    /// Whether a form comes from a page of our own origin. Old browsers do not send that; then only the token and the
    /// cookie protect the form.
    private func isFromHere(_ request: Request) -> Bool {
        if let site = request.headers[.secFetchSite], site != "same-origin" { return false }
        guard let origin = request.headers[.origin] else { return true }
        if let publicOrigin = routes.publicOrigin { return origin == publicOrigin }
        let host = origin.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first
        return host.map(String.init) == request.head.authority
    }

    /// Runs a page's work and turns an error into a page.
    func page(
        of request: Request, _ work: () async throws -> Response
    ) async -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal {
            return pages.response(
                "message",
                [
                    "heading": "Signing in did not work", "sentence": refusal.sentence,
                    "openerOrigins": "*", "error": refusal.sentence,
                ], status: .init(code: refusal.httpStatus))
        } catch {
            // The protocol's errors have their own form; people get the reason as a page.
            let answer = await routes.respond(to: request) { throw error }
            var page = pages.response(
                "message",
                [
                    "heading": "The form was not processed",
                    "sentence": "The service could not process the form. Go back and try again.",
                ], status: answer.status)
            if let connection = answer.headers[.connection] {
                page.headers[.connection] = connection
            }
            return page
        }
    }
}

/// The fields of a form, or of an address's query; empty if there is none.
struct Fields {
    private var values: [String: String] = [:]

    init(_ request: Request) {
        for (name, value) in request.uri.queryParameters { values[String(name)] = String(value) }
    }

    /// `application/x-www-form-urlencoded`.
    init(_ body: ByteBuffer) {
        let text = String(buffer: body)
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = halves.map {
                $0.replacing("+", with: " ").removingPercentEncoding ?? ""
            }
            if decoded.count == 2 { values[decoded[0]] = decoded[1] }
        }
    }

    subscript(name: String) -> String { values[name] ?? "" }
}

extension HTTPField.Name {
    // As in Pages.swift: an invalid literal fails the first test run.
    static let secFetchSite = Self("Sec-Fetch-Site") ?? .eTag
}

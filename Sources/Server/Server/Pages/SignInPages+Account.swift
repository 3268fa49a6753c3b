import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusService

/// The page of a person's own account: sessions, password, recovery code, data, and its deletion.
///
/// Every step is a form with the guards of the sign-in page, and a proof that the password was entered in this browser
/// a short time ago (Decisions/0029). No address shows anything of an account.
extension SignInPages {
    func addAccount(to router: Router<ServerContext>) {
        for (path, template) in [("account", "account-open"), ("recover", "recover")] {
            router.get("auth/\(path)") { request, _ in
                await page(of: request) { try await show(template, [:], to: request) }
            }
        }
        router.post("auth/account") { request, context in
            await page(of: request) {
                let fields = try await checkedFields(request)
                return try await act(on: request, fields, signInForm(request, fields, context))
            }
        }
        router.post("auth/recover") { request, context in
            await page(of: request) {
                let fields = try await checkedFields(request)
                let form = signInForm(request, fields, context)
                return try await retrying("recover", request, fields) {
                    let account = try await service.recover(
                        form, code: fields["code"], secret: secret(of: request))
                    return try await show(
                        account, request, notice: "Your password is changed.", withCode: true)
                }
            }
        }
    }

    private func signInForm(
        _ request: Request, _ fields: Fields, _ context: ServerContext
    ) -> SignInForm {
        SignInForm(
            emailAddress: fields["email"], password: fields["password"],
            networkAddress: routes.networkAddress(of: request, context))
    }

    /// The secret that the form is bound to, which is checked before anything is done.
    private func secret(of request: Request) -> String { request.cookies[cookieName]?.value ?? "" }

    private func act(
        on request: Request, _ fields: Fields, _ form: SignInForm
    ) async throws -> Response {
        let secret = secret(of: request)
        if fields["action"] == "open" {
            return try await retrying("account-open", request, fields) {
                try await show(try await service.openAccount(form, secret: secret), request)
            }
        }
        let account = try await service.account(proof: fields["proof"], secret: secret)
        switch fields["action"] {
        case "end-session":
            try await service.endSession(fields["session"], of: account)
            return try await show(
                try await service.account(proof: account.proof, secret: secret), request,
                notice: "The session is over; that device has to sign in again.")
        case "change-password":
            return try await retrying(account, request) {
                let changed = try await service.changePassword(
                    of: account, to: fields["new"], form, secret: secret)
                return try await show(changed, request, notice: "Your password is changed.")
            }
        case "recovery-code": return try await show(account, request, withCode: true)
        case "export":
            return try await retrying(account, request) {
                archive(of: account, for: try service.beginArchive(of: account))
            }
        case "delete":
            return try await show("account-delete", values(of: account), to: request)
        case "delete-now":
            guard fields["sure"] == "1" else { return try await show(account, request) }
            return try await retrying(account, request) {
                try await service.delete(account, form)
                return pages.response(
                    "message",
                    [
                        "heading": "Your account is deleted",
                        "sentence":
                            "Its data is deleted from this service. Devices keep what apps stored on them.",
                    ])
            }
        default: return try await show(account, request)
        }
    }

    /// Shows a form again with the sentence of a refusal.
    private func retrying(
        _ template: String, _ request: Request, _ fields: Fields,
        _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal {
            return try await show(
                template, ["email": fields["email"], "refusal": refusal.sentence], to: request,
                status: .init(code: refusal.httpStatus),
                retryAfterSeconds: refusal.retryAfterSeconds)
        }
    }

    private func retrying(
        _ account: OwnAccount, _ request: Request, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal {
            var values = values(of: account)
            values["refusal"] = refusal.sentence
            return try await show(
                "account", values, to: request, status: .init(code: refusal.httpStatus),
                retryAfterSeconds: refusal.retryAfterSeconds)
        }
    }

    private func show(
        _ account: OwnAccount, _ request: Request, notice: String? = nil, withCode: Bool = false
    ) async throws -> Response {
        var values = values(of: account)
        if let notice { values["notice"] = notice }
        if withCode { values["code"] = try await service.recoveryCode(of: account) ?? "none" }
        return try await show("account", values, to: request)
    }

    private func values(of account: OwnAccount) -> [String: Any] {
        [
            "name": account.user.name, "proof": account.proof,
            "sessions": account.sessions.map { session in
                [
                    "session": session.identifier, "device": session.device ?? "a browser",
                    "app": session.address?.container ?? "every app",
                    "created": Self.time(session.createdMilliseconds),
                    "used": Self.time(session.lastUsedMilliseconds),
                ]
            },
        ]
    }

    private static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601)
    }

    /// Streams the archive while it is made, without holding it in memory.
    private func archive(of account: OwnAccount, for turn: ArchiveTurn) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = "application/x-tar"
        headers[.cacheControl] = "no-store"
        headers[.contentDisposition] = "attachment; filename=\"stratus-account.tar\""
        headers[.xContentTypeOptions] = "nosniff"
        let service = service
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                // The archive writes one piece after the other, and nothing else uses the writer in the meantime.
                nonisolated(unsafe) var open = writer
                try await service.writeArchive(of: account, for: turn) { bytes in
                    try await open.write(ByteBuffer(bytes: bytes))
                }
                try await open.finish(nil)
            })
    }
}

import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// `POST /dev/sign-in` signs in a user by name without any proof; only with `--dev`.
    func addDevelopment(to router: Router<ServerContext>) {
        router.post("dev/sign-in") { request, _ in
            await respond(to: request) {
                let body = try await request.collectBody(service.settings.limits)
                let signIn = try decode(DevSignIn.Request.self, from: body)
                let signedIn = try await service.signInForDevelopment(user: signIn.user)
                let answer = DevSignIn.Answer(
                    webAuthToken: signedIn.webAuthToken, userRecordName: signedIn.userRecordName)
                return Response(wireBytes: wireBytes(of: answer))
            }
        }
    }
}

import ArgumentParser
import StratusRuntime

/// The command line of the service.
@main
struct Stratus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus",
        abstract: "A self-hosted service that speaks CloudKit's web-services protocol.",
        discussion: """
            For a first try, in two terminals:

              stratus serve --dev --memory
              curl -d '{"user":"alice"}' http://127.0.0.1:8080/dev/sign-in

            With --dev, containers, users and record types are created on first use, the API \
            token is `development`, and everyone who can reach the port can sign in as any user. \
            Without it, make a container and its tokens first:

              stratus token create --data ~/stratus --container iCloud.org.example.Trails
              stratus user create --data ~/stratus --email ida@example.org
              stratus serve --data ~/stratus

            Clients find the service through STRATUS_URL, STRATUS_API_TOKEN and \
            STRATUS_WEB_AUTH_TOKEN (or, with --dev, STRATUS_DEV_USER).
            """,
        version: "0.1.0",
        subcommands: [
            Serve.self, Container.self, Token.self, Key.self, User.self, Schema.self, Role.self,
            Zone.self, Examine.self, Backup.self, Restore.self, Compact.self, Restored.self,
            Collect.self, ListLimits.self,
        ])

    static func main() async {
        StandardOutput.checkAtExit()
        await main(nil)
    }
}

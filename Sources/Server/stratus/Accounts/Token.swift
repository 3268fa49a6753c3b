import ArgumentParser
import StratusRecords
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus token`: the API tokens with which apps use a service that runs without `--dev`.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and revoke the tokens with which apps reach the service.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an API token for a container, and a web-auth token for a user.",
            discussion: """
                Print STRATUS_API_TOKEN=… and, with --user, STRATUS_WEB_AUTH_TOKEN=…, ready for a \
                client's environment. Create the container if it does not exist; the user only with \
                --new-user.
                """)

        @OptionGroup var folder: CommandFolder
        @OptionGroup var container: CommandContainer

        @Option(help: "The purpose of the token; shown in lists.")
        var name: String = "command line"

        @Option(
            name: .customLong("origin"),
            help: ArgumentHelp(
                """
                An origin whose pages may use the token, such as https://trails.example.org; may be \
                given several times. Without any, all may.
                """, valueName: "origin"))
        var origins: [String] = []

        @Option(
            help: ArgumentHelp(
                """
                The address to which a browser takes the web-auth token after the sign-in: with https, \
                or with the app's own scheme, such as org.example.trails:/signed-in.
                """, valueName: "url")
        )
        var callbackURL: String?

        @Flag(
            help: """
                Let apps on the user's own machine sign in: the page hands the web-auth token to a port \
                of 127.0.0.1 on which the app listens, as `stratus-login` does.
                """)
        var loopback = false

        @Option(
            help: ArgumentHelp(
                """
                Also make a web-auth token, for two weeks, for the user with this sign-in name, e-mail \
                address or record name.
                """))
        var user: String?

        @Flag(help: "Create the user if the sign-in name does not exist.")
        var newUser = false

        func validate() throws {
            guard !loopback || callbackURL == nil else {
                throw ValidationError(
                    "--loopback and --callback-url are both given; give one of them.")
            }
        }

        func run() async throws {
            try await folder.withService(makesFolder: true) { service in
                let row = try await userRow(service)
                let token = try await service.accounts.createAPIToken(
                    for: container.address, name: name, allowedOrigins: origins,
                    callbackURL: loopback ? CallbackAddress.loopback : callbackURL)
                print("STRATUS_API_TOKEN=\(token)")
                guard let row else { return }
                let session = try await service.createSession(
                    for: row.recordName, staysSignedIn: true, at: container.address)
                print("STRATUS_WEB_AUTH_TOKEN=\(session.webAuthToken)")
            }
        }

        /// Searched before anything is created, so that a mistyped name leaves nothing behind.
        private func userRow(_ service: CloudService) async throws -> UserRow? {
            guard let user else { return nil }
            do {
                return try await service.accounts.user(user)
            } catch let error as ServiceError where error.code == .notFound {
                guard newUser else {
                    throw OneSentence(
                        "There is no user \(user). Create an account with `stratus user create`, or give"
                            + " --new-user for a user without a password.")
                }
                return try await service.accounts.user(named: user)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                List API tokens, a line each, with tabs between: token, container, environment, time of \
                creation, name, origins, callback URL.
                """)

        @OptionGroup var folder: CommandFolder

        func run() async throws {
            try await folder.withService { service in
                for row in try await service.accounts.apiTokens() {
                    printRow(
                        row.token, row.address.container, row.address.environment.rawValue,
                        row.createdMilliseconds.printedTime, row.name,
                        row.allowedOrigins.joined(separator: " "), row.callbackURL ?? "")
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke an API token; a running service refuses it within two seconds.")

        @OptionGroup var folder: CommandFolder

        @Argument(help: "The API token, as `stratus token list` shows it.")
        var token: String

        func run() async throws {
            try await folder.withService { try await $0.accounts.revokeAPIToken(token) }
        }
    }
}

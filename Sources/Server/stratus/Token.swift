import ArgumentParser
import StratusRecords
import StratusService

/// `stratus token`: the API tokens with which apps reach a service that runs without `--dev`.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, list and revoke the tokens with which apps reach the service.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an API token for a container, and a web-auth token for a user.",
            discussion: """
                Prints STRATUS_API_TOKEN=… and, with --user, STRATUS_WEB_AUTH_TOKEN=…, ready for a \
                client's environment. The container and the user are made when they do not exist.
                """)

        @OptionGroup var folder: CommandFolder
        @OptionGroup var container: CommandContainer

        @Option(help: "What the token is for; shown in lists.")
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
                "Where a browser goes with the web-auth token after the sign-in.", valueName: "url")
        )
        var callbackURL: String?

        @Option(help: "Also make a web-auth token, for two weeks, for the user of this name.")
        var user: String?

        func run() async throws {
            try await folder.withService(makesFolder: true) { service in
                let token = try await service.accounts.createAPIToken(
                    for: container.address, name: name, allowedOrigins: origins,
                    callbackURL: callbackURL)
                print("STRATUS_API_TOKEN=\(token)")
                guard let user else { return }
                let row = try await service.accounts.user(named: user)
                let session = try await service.createSession(
                    for: row.recordName, staysSignedIn: true, at: container.address)
                print("STRATUS_WEB_AUTH_TOKEN=\(session.webAuthToken)")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                List API tokens: token, container, environment, when it was made, name, origins, \
                callback URL; a line each, with tabs between.
                """)

        @OptionGroup var folder: CommandFolder

        func run() async throws {
            try await folder.withService { service in
                for row in try await service.accounts.apiTokens() {
                    let fields = [
                        row.token, row.address.container, row.address.environment.rawValue,
                        row.createdMilliseconds.printedTime, row.name,
                        row.allowedOrigins.joined(separator: " "), row.callbackURL ?? "",
                    ]
                    print(fields.joined(separator: "\t"))
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke an API token: a running service refuses it within two seconds.")

        @OptionGroup var folder: CommandFolder

        @Argument(help: "The token.")
        var token: String

        func run() async throws {
            try await folder.withService { try await $0.accounts.revokeAPIToken(token) }
        }
    }
}

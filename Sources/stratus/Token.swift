import ArgumentParser
import StratusRecords
import StratusService
import StratusStorage

/// `stratus token`: the keys with which apps and people reach a service that runs without `--dev`.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make the tokens with which apps and people reach the service.",
        subcommands: [Create.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an API token for a container, and a web-auth token for a user.",
            discussion: """
                Prints STRATUS_API_TOKEN=… and, with --user, STRATUS_WEB_AUTH_TOKEN=…, ready for a \
                client's environment. The container and the user are made when they do not exist. \
                The service must not be running on the folder.
                """)

        @Option(help: ArgumentHelp("The folder that keeps the data.", valueName: "dir"))
        var data: String = Serve.defaultFolder

        @Option(help: "The container's identifier, such as iCloud.org.example.Trails.")
        var container: String

        @Option(
            help: """
                development, where record types grow by use, or production, where they come by \
                `stratus schema deploy`.
                """)
        var environment: String = "development"

        @Option(help: "What the token is for; shown in lists.")
        var name: String = "command line"

        @Option(help: "Also make a web-auth token for the user of this name.")
        var user: String?

        func validate() throws {
            guard ContainerEnvironment(rawValue: environment) != nil else {
                throw ValidationError("The environment is development or production.")
            }
        }

        func run() async throws {
            let address = ContainerAddress(
                container: container,
                environment: ContainerEnvironment(rawValue: environment) ?? .development)
            do {
                let storehouse = try SQLiteStorehouse(folder: data)
                let service = CloudService(
                    storehouse: storehouse, settings: ServiceSettings(isForDevelopment: false))
                let token = try await service.accounts.createAPIToken(for: address, name: name)
                print("STRATUS_API_TOKEN=\(token)")
                if let user {
                    let row = try await service.accounts.user(named: user)
                    let session = try await service.createSession(
                        for: row.recordName, staysSignedIn: true)
                    print("STRATUS_WEB_AUTH_TOKEN=\(session.webAuthToken)")
                }
                try await storehouse.close()
            } catch let error as StorageError {
                throw OneSentence(error)
            }
        }
    }
}

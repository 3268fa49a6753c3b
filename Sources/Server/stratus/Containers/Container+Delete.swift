import ArgumentParser
import StratusRecords
import StratusRuntime
import StratusService
import StratusStorage

extension Container {
    /// `stratus container delete`: a container's environment with everything in it.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an environment of a container, with everything in it.",
            discussion: """
                Print what is removed: all databases with their records and assets, API tokens, keys \
                of servers, sessions, devices, the schema with its roles, and the links of shares. \
                Without --confirm, remove nothing. Accounts stay. The service must not be running on \
                the folder.
                """)

        @OptionGroup var folder: CommandFolder
        @OptionGroup var container: CommandContainer

        @Option(
            help: ArgumentHelp(
                "The container's identifier again, which confirms the deletion.",
                valueName: "container"))
        var confirm: String?

        func run() async throws {
            let address = container.address
            try await folder.withStorageEngine(access: .alone) { service, storage in
                let databases = try await storage.databases()
                    .filter { $0.containerAddress == address }
                guard
                    try await service.accounts.containers().contains(address) || !databases.isEmpty
                else {
                    throw OneSentence(
                        "There is no container \(address.container) in the environment"
                            + " \(address.environment.rawValue); see `stratus container list`.")
                }
                let tokens = try await service.accounts.apiTokens().count { $0.address == address }
                let keys = try await service.accounts.serverKeys().count { $0.address == address }
                print(
                    "\(address.container)\t\(address.environment.rawValue)\t"
                        + "\(databases.count) databases\t\(tokens) API tokens\t\(keys) server keys")
                guard let confirm else {
                    print("Nothing was deleted: add --confirm \(address.container)")
                    return
                }
                guard confirm == address.container else {
                    throw OneSentence(
                        "Nothing was deleted: --confirm names \(confirm), and --container names"
                            + " \(address.container). Give both the same name.")
                }
                // Without credentials no client can open a database in the meantime. If a crash comes in between, the
                // same command deletes the rest.
                try await service.accounts.deleteContainer(address)
                try await storage.deleteDatabases(of: address)
                print("deleted: \(address.container), \(address.environment.rawValue)")
            }
        }
    }
}

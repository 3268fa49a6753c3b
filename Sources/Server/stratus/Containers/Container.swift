import ArgumentParser
import StratusRecords

/// `stratus container`: the containers of a data folder.
struct Container: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and delete containers.",
        subcommands: [Create.self, List.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a container.")

        @OptionGroup var folder: CommandFolder
        @OptionGroup var container: CommandContainer

        func run() async throws {
            try await folder.withService(makesFolder: true) { service in
                try await service.accounts.createContainer(container.address)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List containers, a line each: identifier and environment.")

        @OptionGroup var folder: CommandFolder

        func run() async throws {
            try await folder.withService { service in
                for address in try await service.accounts.containers() {
                    print("\(address.container)\t\(address.environment.rawValue)")
                }
            }
        }
    }
}

import ArgumentParser
import StratusRecords
import StratusService

/// `stratus role`: the members of the roles that a schema defines.
struct Role: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Give users the roles that a schema defines with CREATE ROLE.",
        discussion: """
            Each environment has its own roles. The service may be running; it notices a change \
            within two seconds.
            """,
        subcommands: [Assign.self, Revoke.self, List.self])

    /// A user's role in a container.
    struct Membership: ParsableArguments {
        @OptionGroup var place: ContainerOptions

        @Option(help: "The environment: development or production.")
        var environment: ContainerEnvironment = .development

        @Argument(help: "The role's name.")
        var role: String

        @Argument(help: "The name with which the user signs in.")
        var user: String

        func set(isAssigned: Bool) async throws {
            try await place.withSchemas { schemas, _ in
                try await schemas.setRole(
                    role, ofUserNamed: user, in: environment, isAssigned: isAssigned)
            }
        }
    }

    struct Assign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a user a role.")

        @OptionGroup var membership: Membership

        func run() async throws { try await membership.set(isAssigned: true) }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take a role from a user.")

        @OptionGroup var membership: Membership

        func run() async throws { try await membership.set(isAssigned: false) }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the users who have roles, a line each: role, sign-in name, record name.")

        @OptionGroup var place: ContainerOptions

        @Option(help: "The environment: development or production.")
        var environment: ContainerEnvironment = .development

        func run() async throws {
            let members = try await place.withSchemas { schemas, _ in
                try await schemas.members(in: environment)
            }
            for member in members {
                print("\(member.role)\t\(member.userName ?? "-")\t\(member.userRecordName)")
            }
        }
    }
}

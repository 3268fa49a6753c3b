import ArgumentParser
import Foundation
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusService
import StratusStorage

/// `stratus schema`: the record types of a container as a text, and their deployment to production.
struct Schema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read, check, replace and deploy the record types of a container.",
        discussion: """
            The language and the invariants are described in Documentation/Schema.md. All but the resets \
            work beside a running service, which notices within two seconds.
            """,
        subcommands: [
            Export.self, Import.self, Validate.self, Diff.self, Deploy.self, Reset.self,
        ])

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print a schema's text.")

        @OptionGroup var place: ContainerOptions

        @Option(help: "The environment: development or production.")
        var environment: ContainerEnvironment = .development

        func run() async throws {
            let text = try await place.withSchemas { schemas, _ in
                try await schemas.schema(in: environment).text
            }
            do {
                try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
            } catch {
                // The system's reason is left out: the operator must check the output in any case.
                throw OneSentence(
                    "The schema was not written to the end: the output takes no more. Check its"
                        + " disk's free space, and export it again.")
            }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the development schema with a text.",
            discussion: """
                The text is the whole schema: what it leaves out is removed, which the invariants forbid \
                where production has it or a stored record uses it. With --reset, delete all records \
                of the development environment first; the service must not be running then.
                """)

        @OptionGroup var place: ContainerOptions
        @OptionGroup var file: SchemaFile

        @Flag(help: "Delete all records of the development environment first.")
        var reset = false

        @Flag(help: "Confirm the deletion; required with --reset.")
        var yes = false

        func validate() throws {
            if reset, !yes { throw Reset.unconfirmed }
        }

        func run() async throws {
            let schema = try file.schema()
            let review = try await place.withSchemas(
                makesFolder: true, access: reset ? .alone : .beside
            ) { schemas, storage in
                guard reset else { return try await schemas.replace(with: schema) }
                try await storage.deleteDatabases(of: place.development)
                return try await schemas.reset(to: schema)
            }
            Schema.show(review)
        }
    }

    struct Validate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a text, and whether it could be imported.",
            discussion: """
                Without --container, check only the text. Exit with status 0 when all is well, else \
                print what is wrong and exit with status 1.
                """)

        @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
        var data: String = Serve.defaultFolder

        @Option(help: "The container with whose development schema to compare the text.")
        var container: String?

        @OptionGroup var file: SchemaFile

        func run() async throws {
            let schema = try file.schema()
            guard let container else { return }
            let review = try await ContainerOptions(data: data, container: container)
                .withSchemas { schemas, _ in
                    try await schemas.reviewReplacement(with: schema)
                }
            guard review.isPermitted else {
                Schema.show(review)
                throw OneSentence(
                    "The schema \(file.file) cannot be imported into \(container) without a reset;"
                        + " `stratus schema import --reset --yes` deletes the records first.")
            }
        }
    }

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print what a deployment or an import would change.",
            discussion: """
                Without a file, print what `deploy` would change in production; with one, what \
                `import` would change in development. Changes that break an invariant are marked.
                """)

        @OptionGroup var place: ContainerOptions

        @Argument(help: "A schema's text; - is the standard input.")
        var file: String?

        func run() async throws {
            let schema = try file.map { try SchemaFile(file: $0).schema() }
            Schema.show(
                try await place.withSchemas { schemas, _ in
                    guard let schema else { return try await schemas.reviewDeployment() }
                    return try await schemas.reviewReplacement(with: schema)
                })
        }
    }

    struct Deploy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy the development schema to production.",
            discussion: """
                Change nothing when a change would lose data or break published apps. Create the \
                container's production environment if it does not exist.
                """)

        @OptionGroup var place: ContainerOptions

        func run() async throws {
            Schema.show(try await place.withSchemas { schemas, _ in try await schemas.deploy() })
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Delete the development environment's records, and replace its schema with production's.",
            discussion: "The service must not be running on the folder.")

        static let unconfirmed = ValidationError(
            "The reset deletes all records of the development environment; add --yes to"
                + " confirm it.")

        @OptionGroup var place: ContainerOptions

        @Flag(help: "Confirm the deletion; required.")
        var yes = false

        func validate() throws {
            if !yes { throw Self.unconfirmed }
        }

        func run() async throws {
            let review = try await place.withSchemas(access: .alone) { schemas, storage in
                _ = try await schemas.schema(in: .development)
                try await storage.deleteDatabases(of: place.development)
                return try await schemas.reset(to: nil)
            }
            Schema.show(review)
        }
    }

    fileprivate static func show(_ review: SchemaReview) {
        if review.changes.isEmpty { return print("no changes") }
        for line in review.lines { print(line) }
    }
}

/// A schema's text in a file.
struct SchemaFile: ParsableArguments {
    @Argument(help: "A schema's text; - is the standard input.")
    var file: String

    init() {}

    init(file: String) { self.file = file }

    func schema() throws -> ContainerSchema {
        let data: Data
        do {
            data =
                file == "-"
                ? try FileHandle.standardInput.readToEnd() ?? Data()
                : try Data(contentsOf: URL(fileURLWithPath: file))
        } catch {
            throw OneSentence(
                "The schema's file cannot be read: \(file). Check its path and permissions.")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw OneSentence(
                "The schema's file is not text in UTF-8: \(file). Save it in UTF-8.")
        }
        do {
            return try ContainerSchema(text: text)
        } catch {
            throw OneSentence("\(file): \(error)")
        }
    }
}

/// The container of a command about schemas.
struct ContainerOptions: ParsableArguments {
    @OptionGroup var folder: CommandFolder

    @Option(help: "The container's identifier, such as iCloud.org.example.Trails.")
    var container: String

    init() {}

    init(data: String, container: String) {
        folder = CommandFolder(data: data)
        self.container = container
    }

    var development: ContainerAddress {
        ContainerAddress(container: container, environment: .development)
    }

    /// Runs `body` on the container's schemas.
    ///
    /// - Parameter makesFolder: Whether to create a missing folder.
    func withSchemas<Outcome>(
        makesFolder: Bool = false, access: SQLiteStorageEngine.Access = .beside,
        _ body: (SchemaDeployment, SQLiteStorageEngine) async throws -> Outcome
    ) async throws -> Outcome {
        try await folder.withStorageEngine(makesFolder: makesFolder, access: access) {
            try await body($0.schemaDeployment(of: container), $1)
        }
    }
}

extension ContainerEnvironment: ExpressibleByArgument {}

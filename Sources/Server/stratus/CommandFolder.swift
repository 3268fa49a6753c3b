import ArgumentParser
import Foundation
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusService
import StratusStorage
import StratusWire

/// The data folder of a command, which may run while a service uses the folder. The service notices changes within
/// two seconds.
struct CommandFolder: ParsableArguments {
    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    init() {}

    init(data: String) {
        self.data = data
    }

    /// Runs `body` on the folder's service.
    ///
    /// - Parameter makesFolder: Whether to create a missing folder.
    /// - Throws: ``OneSentence``.
    func withService<Outcome>(
        makesFolder: Bool = false, _ body: (CloudService) async throws -> Outcome
    ) async throws -> Outcome {
        try await withStorageEngine(makesFolder: makesFolder) { service, _ in
            try await body(service)
        }
    }

    /// Opens the folder, and closes it even when `body` throws. Refusals become one sentence.
    func withStorageEngine<Outcome>(
        makesFolder: Bool = false, access: SQLiteStorageEngine.Access = .beside,
        _ body: (CloudService, SQLiteStorageEngine) async throws -> Outcome
    ) async throws -> Outcome {
        guard makesFolder || FileManager.default.fileExists(atPath: data + "/directory.sqlite")
        else { throw OneSentence("There is no data folder at \(data). Check --data.") }
        do {
            let storage = try SQLiteStorageEngine(folder: data, access: access)
            let service = CloudService(
                storage: storage, settings: ServiceSettings(isForDevelopment: false))
            let outcome: Result<Outcome, any Error>
            do {
                outcome = .success(try await body(service, storage))
            } catch {
                // Thrown again below, after the files are closed.
                outcome = .failure(error)
            }
            try await storage.close()
            return try outcome.get()
        } catch {
            throw OneSentence(error) ?? error
        }
    }
}

/// Refuses a path at which there is no data folder: most commands must not create one, nor report success there.
///
/// - Throws: ``OneSentence``.
func checkDataFolder(at path: String) throws {
    let isThere = ["format", "directory.sqlite"].contains {
        FileManager.default.fileExists(atPath: path + "/" + $0)
    }
    guard isThere else { throw OneSentence("There is no data folder at \(path). Check --data.") }
}

/// The container that a command is about.
struct CommandContainer: ParsableArguments {
    @Option(help: "The container's identifier, such as iCloud.org.example.Trails.")
    var container: String

    @Option(
        help: """
            The environment: development, where record types grow by use, or production, where \
            they must have been deployed.
            """)
    var environment: ContainerEnvironment = .development

    var address: ContainerAddress {
        ContainerAddress(container: container, environment: environment)
    }
}

extension OneSentence {
    /// The sentence that explains an error to a person; nil for an unexpected one.
    init?(_ error: any Error) {
        switch error {
        case let error as StorageError: self.init(error)
        case let error as RequestFailure: self.init(error.error.reason)
        case let error as ServiceError: self.init(error.reason)
        case let refusal as SchemaRefusal: self.init(refusal.description)
        case let refusal as SignInRefusal: self.init(refusal.sentence)
        case let refusal as BackupRefusal: self.init(refusal.description)
        default: return nil
        }
    }
}

extension Int64 {
    /// A time in milliseconds since 1970 in the form in which commands print it.
    var printedTime: String {
        Date(timeIntervalSince1970: Double(self) / 1_000).formatted(.iso8601)
    }
}

/// Prints a row of a list, with tabs between its fields.
func printRow(_ fields: String...) {
    print(fields.joined(separator: "\t"))
}

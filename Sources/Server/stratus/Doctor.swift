import ArgumentParser
import Foundation
import StratusService
import StratusStorage

/// `stratus doctor`: examines a data folder.
struct Examine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examine a data folder: every file, every row, every record.",
        discussion: """
            Changes no data, and may run beside the service. Prints what breaks which invariant, one line \
            each, and exits with status 1; or one line when all is well.
            """)

    @Option(help: ArgumentHelp("The folder that keeps the data.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    func run() async throws {
        // Looking must not make a folder.
        guard FileManager.default.fileExists(atPath: data + "/directory.sqlite") else {
            throw ValidationError("There is no data folder at \(data).")
        }
        do {
            let storage = try SQLiteStorageEngine(folder: data, access: .beside)
            let diagnosis = try await Doctor(storage: storage).examine()
            try await storage.close()
            for finding in diagnosis.findings { print(finding) }
            guard diagnosis.isHealthy else { throw ExitCode(1) }
            print(
                "healthy: \(diagnosis.folder.files) files, \(diagnosis.records) records, "
                    + "\(diagnosis.folder.invariants) invariants hold")
        } catch let error as StorageError {
            throw OneSentence(error)
        }
    }
}

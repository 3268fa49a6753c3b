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
            Changes no data, and may run beside the service. Prints which file breaks which invariant and \
            what to do about it, one line each, and exits with status 1; or one line when all is well. \
            With --repair it rebuilds what is derived from records, and needs the folder alone.
            """)

    @Option(help: ArgumentHelp("The folder that keeps the data.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    @Flag(help: "Rebuild what is derived from records where it is wrong. No service may run.")
    var repair = false

    func run() async throws {
        // Looking must not make a folder.
        guard FileManager.default.fileExists(atPath: data + "/directory.sqlite") else {
            throw ValidationError("There is no data folder at \(data).")
        }
        do {
            let storage = try SQLiteStorageEngine(folder: data, access: repair ? .alone : .beside)
            let doctor = Doctor(storage: storage)
            let diagnosis: Doctor.Diagnosis
            if repair {
                let repaired = try await doctor.repair()
                diagnosis = repaired.diagnosis
                for path in repaired.rebuilt { print("rebuilt: \(path)") }
            } else {
                diagnosis = try await doctor.examine()
            }
            try await storage.close()
            for finding in diagnosis.findings { print("\(finding) \(finding.advice)") }
            guard diagnosis.isHealthy else { throw ExitCode(1) }
            print(
                "healthy: \(diagnosis.folder.files) files, \(diagnosis.records) records, "
                    + "\(diagnosis.folder.invariants) invariants hold")
        } catch let error as StorageError {
            throw OneSentence(error)
        }
    }
}

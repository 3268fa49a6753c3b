import ArgumentParser
import Foundation
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus doctor`: examines a data folder.
struct Examine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examine a data folder: every file, every row, every record.",
        discussion: """
            Print which file breaks which invariant and what to do about it, one line each, and exit \
            with status 1; or print one line when all is well. No data is changed, and the service may \
            be running. With --repair, rebuild what is derived from records; stop the service first. \
            With --accept-loss, continue with what is left of one database instead.
            """)

    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    @Option(
        help: ArgumentHelp(
            """
            Continue with what is left of a database that is refused because some of its commits \
            are missing: a new history begins, and all devices fetch it again. A missing file \
            becomes an empty database.
            """, valueName: "file"))
    var acceptLoss: String?

    @Flag(help: "Rebuild derived data that is wrong. The service must not be running.")
    var repair = false

    @Flag(
        help: """
            Give up rows whose checksum does not match; needs --repair. A tombstone takes a record's \
            place, so that the changes of its zone can be fetched again.
            """)
    var dropDamaged = false

    func validate() throws {
        if dropDamaged, !repair {
            throw ValidationError("--drop-damaged is given without --repair; give both.")
        }
        if repair, acceptLoss != nil {
            throw ValidationError(
                "--accept-loss and --repair are both given; accept the loss first, then repair.")
        }
    }

    func run() async throws {
        // Examining a folder must not create it.
        guard FileManager.default.fileExists(atPath: data + "/format") else {
            throw ValidationError("There is no data folder at \(data). Check --data.")
        }
        do {
            if let acceptLoss { return try await accept(lossOf: acceptLoss) }
            let storage = try SQLiteStorageEngine(folder: data, access: repair ? .alone : .beside)
            let doctor = Doctor(storage: storage)
            let diagnosis: Doctor.Diagnosis
            if repair {
                let repaired = try await doctor.repair(dropsDamaged: dropDamaged)
                diagnosis = repaired.diagnosis
                for row in repaired.dropped { print("dropped: \(row)") }
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

    private func accept(lossOf file: String) async throws {
        let losses = try await SQLiteStorageEngine.acceptLosses(of: file, inFolder: data)
        if losses.isEmpty { print("nothing is lost: \(file)") }
        for loss in losses { print(loss) }
    }
}

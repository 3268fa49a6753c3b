import ArgumentParser
import Foundation
import StratusRuntime
import StratusService

/// `stratus backup`: copies a data folder while the service runs.
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy all data into a new folder, while the service runs.",
        discussion: """
            Everything that was acknowledged before the backup began is in it. The folder must not exist \
            yet, or be empty. Its manifest.json is written last: a folder without one is not a \
            complete backup. Assets are hard links where the folder is on the same file system.
            """)

    @OptionGroup var folder: CommandFolder

    @Argument(help: ArgumentHelp("The new folder of the backup.", valueName: "dir"))
    var backup: String

    func run() throws {
        do {
            var taking = FolderBackup(of: folder.data, to: backup)
            let manifest = try taking.take()
            let bytes = manifest.files.reduce(0) { $0 + $1.sizeBytes }
            print("backed up: \(manifest.files.count) files, \(bytes) bytes")
            for missing in manifest.missing {
                print("not backed up: \(missing.path): \(missing.reason)")
            }
            guard manifest.missing.isEmpty else { throw ExitCode(1) }
        } catch {
            throw OneSentence(error) ?? error
        }
    }
}

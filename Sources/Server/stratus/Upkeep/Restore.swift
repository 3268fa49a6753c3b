import ArgumentParser
import Foundation
import StratusRuntime
import StratusService

/// `stratus restore`: replaces a data folder's content by a backup.
struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replace a data folder's content with a backup.",
        discussion: """
            Stop the service first. Every file of the backup is compared with its manifest before \
            anything is replaced. The folder's old content is moved into a subfolder \
            replaced-<time>; nothing is deleted. Devices that have seen changes which the backup \
            lacks fetch everything once.
            """)

    @OptionGroup var folder: CommandFolder

    @Argument(help: ArgumentHelp("The folder of the backup.", valueName: "dir"))
    var backup: String

    @Flag(help: "Restore although the backup lacks databases that were damaged.")
    var partial = false

    func run() async throws {
        do {
            let restore = FolderRestore(of: backup, to: folder.data)
            let outcome = try await restore.put(takesPart: partial) { stage in
                _ = try await CommandFolder(data: stage).withStorageEngine(access: .alone) {
                    service, _ in try await service.beginEpochs()
                }
            }
            print("restored: \(outcome.files) files")
            if let replaced = outcome.replaced { print("what was there is in \(replaced)") }
            for missing in outcome.missing { print("not restored: \(missing.path)") }
        } catch {
            throw OneSentence(error) ?? error
        }
    }
}

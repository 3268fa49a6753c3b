import ArgumentParser
import StratusService
import StratusStorage

/// `stratus restored`: what has to be said after a backup was put back.
struct Restored: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell that a backup was put back: all devices fetch everything once.",
        discussion: """
            A backup lacks changes that devices have seen. Without this command a device would \
            miss what takes the place of those changes; with it every change token expires. Run it \
            before the service is started on the restored folder.
            """)

    @Option(help: ArgumentHelp("The folder that keeps the data.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    func run() async throws {
        do {
            // A backup lacks commits that were acknowledged: that is what the command says.
            for loss in try await SQLiteStorageEngine.acceptLosses(of: nil, inFolder: data) {
                print(loss)
            }
        } catch let error as StorageError {
            throw OneSentence(error)
        }
        let count = try await withService(of: data) { try await $0.renewIncarnations() }
        print("databases with a new history: \(count)")
    }
}

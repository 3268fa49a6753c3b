import ArgumentParser
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus restored`: begins an epoch in every database.
struct Restored: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Begin a new epoch in every database; a service also does this by itself.",
        discussion: """
            A backup that is put back lacks changes that devices have seen. The service notices: \
            its first write to a database begins an epoch, and the change tokens that name a lost \
            change expire. Use this command to do the same at once, for all databases, and to accept \
            those that have fewer commits than their high-water marks.
            """)

    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    func run() async throws {
        try checkDataFolder(at: data)
        do {
            // Accepts the lost commits: running the command says that a backup was restored, which
            // lacks them.
            for loss in try await SQLiteStorageEngine.acceptLosses(of: nil, inFolder: data) {
                print(loss)
            }
        } catch let error as StorageError {
            throw OneSentence(error)
        }
        let count = try await withService(of: data) { try await $0.beginEpochs() }
        print("databases with a new epoch: \(count)")
    }
}

import ArgumentParser
import ServiceLifecycle
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus collect`: removes assets that no record holds any more.
struct Collect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove assets that no record has held for two days.",
        discussion: """
            A running service does this by itself, every six hours. The command may run beside it. \
            An asset that a record holds, or that was uploaded lately, is never taken.
            """)

    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    func run() async throws {
        try checkDataFolder(at: data)
        do {
            let storage = try SQLiteStorageEngine(folder: data, access: .beside)
            let service = CloudService(
                storage: storage, settings: ServiceSettings(isForDevelopment: false))
            let collection = await service.collectAssets()
            try await storage.close()
            print(
                "Removed \(collection.unreferencedAssets) assets (\(collection.sizeBytes) bytes) and "
                    + "\(collection.strayBlobs) files that crashes left.")
            if collection.failedDatabases > 0 {
                print(
                    "\(collection.failedDatabases) databases could not be searched; the log has the"
                        + " errors. Run `stratus doctor`.")
                throw ExitCode.failure
            }
        } catch let error as StorageError {
            throw OneSentence(error)
        }
    }
}

/// Collects assets while the service runs.
struct AssetCollectionLifecycle: Service {
    let service: CloudService

    func run() async {
        await cancelWhenGracefulShutdown { await service.runAssetCollection() }
    }
}

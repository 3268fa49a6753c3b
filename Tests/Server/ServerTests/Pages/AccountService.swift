import StratusService
import StratusStorage

extension CloudService {
    /// A service without `--dev` whose clock stands still, and which hashes passwords at no cost.
    static func withAccounts() -> CloudService {
        var settings = ServiceSettings(
            isForDevelopment: false,
            world: .init(nowMilliseconds: { 1_800_000_000_000 }, uptimeSeconds: { 1_000 }))
        settings.accounts.passwordCost = .init(logRounds: 1, blockSize: 1, parallelism: 1)
        return CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
    }
}

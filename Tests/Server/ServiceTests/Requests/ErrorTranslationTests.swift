import InMemoryLogging
import Logging
import StratusStorage
import Testing

@testable import StratusService

@Suite struct ErrorTranslationTests {
    /// A device asks for the asset again and again.
    @Test func unusableAssetFileIsLoggedOnce() {
        let handler = InMemoryLogHandler()
        let errors = ErrorTranslation(logger: Logger(label: "test") { _ in handler })
        func log(_ error: StorageError) -> Int {
            _ = errors.failure(from: error)
            return handler.entries.filter { $0.level == .error }.count
        }
        #expect(log(StorageError(.other, "The file cannot be read.", path: "/data/a")) == 1)
        #expect(log(StorageError(.other, "The file cannot be read.", path: "/data/a")) == 1)
        #expect(log(StorageError(.other, "The file cannot be read.", path: "/data/b")) == 2)
        #expect(log(StorageError(.other, "The file has another fault.", path: "/data/a")) == 3)
        // Without a file, the request is at fault, or the service.
        #expect(log(StorageError(.other, "The zone does not exist.")) == 4)
        #expect(log(StorageError(.other, "The zone does not exist.")) == 5)
        #expect(!errors.isStopped)
    }

    /// A browser asks before its request whether the page may read the answer. If not, it sends no request whose answer
    /// could report the error.
    @Test func failedQuestionOfBrowserIsLogged() async throws {
        let handler = InMemoryLogHandler()
        let storage = SQLiteStorageEngine.inMemory()
        let service = CloudService(
            storage: storage,
            settings: ServiceSettings(
                isForDevelopment: false, logger: Logger(label: "test") { _ in handler }))
        try await storage.close()
        let mayRead = await service.mayRead(origin: "https://trails.example.org", apiToken: "token")
        #expect(!mayRead)
        #expect(handler.entries.contains { $0.level == .error })
    }
}

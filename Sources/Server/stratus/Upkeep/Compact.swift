import ArgumentParser
import StratusService

/// `stratus compact`: removes the tombstones of records that were deleted long ago.
struct Compact: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove tombstones of records that were deleted long ago.",
        discussion: """
            The service does this by itself when tombstones are more than a quarter of a zone; \
            use this command to do it everywhere at once. Devices that last fetched before those \
            deletions fetch everything once. The service may be running.
            """)

    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String = Serve.defaultFolder

    @Option(help: "How many days ago a record must have been deleted.")
    var days = 180

    func validate() throws {
        guard days > 0 else {
            throw ValidationError(
                "--days \(days) is not above 0; give 1 or more.")
        }
    }

    func run() async throws {
        let count = try await withService(of: data) {
            try await $0.purgeTombstones(olderThanSeconds: Double(days) * 24 * 3600)
        }
        print("tombstones removed: \(count)")
    }
}

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

    /// A hundred years. The milliseconds of more days need not fit into 64 bits.
    private static let mostDays = 36_500

    func validate() throws {
        guard (1...Self.mostDays).contains(days) else {
            throw ValidationError(
                "--days \(days) is not from 1 to \(Self.mostDays); give such a number.")
        }
    }

    func run() async throws {
        let count = try await withService(of: data) {
            try await $0.purgeTombstones(olderThanSeconds: Double(days) * 24 * 3600)
        }
        print("tombstones removed: \(count)")
    }
}

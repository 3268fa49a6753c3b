import ArgumentParser
import Foundation
import StratusRecords
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus zone`: removes a person's zone for a reason that the person's devices can see.
struct Zone: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove a zone of a user, with a reason that the user's devices report.",
        subcommands: [Purge.self, Reset.self])

    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a zone because its owner wants the app's data gone.",
            discussion: """
                Devices are notified that the zone was purged, and remove their copies of it. \
                Saving into it fails as userDeletedZone until an app creates it again. The service \
                may be running.
                """)

        @OptionGroup var which: Which

        func run() async throws { try await which.remove(.purged) }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a zone because its owner's encrypted data cannot be read any more.",
            discussion: """
                Devices are notified that the encrypted data was reset, and may send what they keep \
                once they have created the zone again. The service may be running.
                """)

        @OptionGroup var which: Which

        func run() async throws { try await which.remove(.encryptedDataReset) }
    }

    struct Which: ParsableArguments {
        @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
        var data: String = Serve.defaultFolder

        @Option(help: "The container's identifier, such as iCloud.org.example.Trails.")
        var container: String

        @Option(help: "The environment: development or production.")
        var environment: String = "production"

        @Option(help: "The name that the owner signs in with.")
        var user: String

        @Option(help: "The zone's name.")
        var zone: String

        func validate() throws {
            guard ContainerEnvironment(rawValue: environment) != nil else {
                throw ValidationError(
                    "There is no environment \(environment); give development or production.")
            }
            guard zone != ZoneID.defaultZoneName else {
                throw ValidationError(
                    "The default zone cannot be removed; give a custom zone with --zone.")
            }
        }

        func remove(_ reason: ZoneRow.Deletion) async throws {
            let address = ContainerAddress(
                container: container,
                environment: ContainerEnvironment(rawValue: environment) ?? .production)
            let isRemoved = try await withService(of: data) { service in
                guard let owner = try await service.storage.directory.user(named: user) else {
                    throw ValidationError(
                        "There is no user with the sign-in name \(user); see `stratus user list`.")
                }
                let database = DatabaseAddress(address, .private(owner: owner.recordName))
                guard try await service.storage.databases().contains(database) else {
                    throw ValidationError(
                        "The user \(user) has no private database in \(container), \(environment);"
                            + " check --container and --environment.")
                }
                return try await service.removeZone(
                    named: zone, of: owner.recordName, at: address, reason: reason)
            }
            guard isRemoved else {
                throw ValidationError(
                    "The user \(user) has no zone \(zone) in \(container), \(environment);"
                        + " check --zone.")
            }
            print("removed \(zone)")
        }
    }
}

/// Runs a command's work on a data folder, which a service may be using.
///
/// - Throws: ``OneSentence`` when the folder cannot be used.
func withService<Outcome>(
    of folder: String, _ work: (CloudService) async throws -> Outcome
) async throws -> Outcome {
    // Removing a zone must not create a folder.
    guard FileManager.default.fileExists(atPath: folder + "/directory.sqlite") else {
        throw ValidationError("There is no data folder at \(folder). Check --data.")
    }
    do {
        let storage = try SQLiteStorageEngine(folder: folder, access: .beside)
        let service = CloudService(
            storage: storage, settings: ServiceSettings(isForDevelopment: false))
        let outcome = try await work(service)
        await service.waitUntilIdle()
        try await storage.close()
        return outcome
    } catch {
        throw OneSentence(error) ?? error
    }
}

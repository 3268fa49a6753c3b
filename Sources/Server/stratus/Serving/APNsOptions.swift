import ArgumentParser
import Foundation
import StratusRuntime
import StratusServer

/// The options for Apple's push service; without them notifications go to long polls only.
struct APNsOptions: ParsableArguments {
    @Option(
        name: .customLong("apns-key"),
        help: ArgumentHelp(
            "The signing key for Apple's push service, a .p8 file.", valueName: "file"))
    var keyFile: String?

    @Option(
        name: .customLong("apns-key-id"),
        help: ArgumentHelp("The signing key's identifier.", valueName: "id"))
    var keyIdentifier: String?

    @Option(
        name: .customLong("apns-team-id"),
        help: ArgumentHelp("The developer team's identifier.", valueName: "id"))
    var teamIdentifier: String?

    @Option(
        name: .customLong("apns-topic"),
        help: ArgumentHelp(
            "The app's bundle identifier; without it, each container's name without \"iCloud.\".",
            valueName: "bundle"))
    var topic: String?

    @Option(
        name: .customLong("apns-url"),
        help: ArgumentHelp("The push service's address, in place of Apple's.", valueName: "url"))
    var url: String?

    func validate() throws {
        let given = [keyFile, keyIdentifier, teamIdentifier].compactMap { $0 }
        guard [0, 3].contains(given.count) else {
            throw ValidationError(
                "Some of --apns-key, --apns-key-id and --apns-team-id are missing;"
                    + " give all or none.")
        }
        guard !given.isEmpty || topic == nil && url == nil else {
            throw ValidationError(
                "--apns-topic or --apns-url is given without a key; give --apns-key,"
                    + " --apns-key-id and --apns-team-id too.")
        }
    }

    /// - Throws: ``OneSentence`` when the key cannot be read.
    func delivery() throws -> APNsDelivery? {
        guard let keyFile, let keyIdentifier, let teamIdentifier else { return nil }
        let key = try readOption("--apns-key", "The push service's key", in: keyFile)
        do {
            return try APNsDelivery(
                APNsSettings(
                    privateKey: key, keyIdentifier: keyIdentifier, teamIdentifier: teamIdentifier,
                    topic: topic, url: url))
        } catch let error as APNsKeyError {
            throw OneSentence("\(error.description) (\(keyFile))")
        }
    }
}

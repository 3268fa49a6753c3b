import AppDevice
import ArgumentParser
import Foundation
import ShoppingCore
import StratusCache
import StratusRuntime

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// `shopping`: shopping lists in the terminal.
@main
struct Shopping: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shopping",
        abstract: "Keep shopping lists that work offline and are the same on all your devices.",
        discussion: """
            The list is shown on the whole terminal, and ? shows the keys; with --prompt, type commands \
            instead. From a pipe, every line is a command, there is no prompt, and each command's \
            output ends with a line that is just a full stop. NO_COLOR leaves colours out.

            Without further settings the lists stay on this device. To share them among your \
            devices, name a Stratus service, and sign in there with `shopping sign-in`:
              STRATUS_URL             its address, such as http://127.0.0.1:8080
              STRATUS_API_TOKEN       the app's token there; who runs the service makes it with
                                      stratus token create --loopback
                                        --container \(Self.containerIdentifier)
              STRATUS_WEB_AUTH_TOKEN  who you are, instead of signing in
              STRATUS_DEV_USER        who you are, at a service that runs with --dev
              STRATUS_LOG             a level, such as debug, to have log lines on standard error
              STRATUS_DEVICE_ID       this device's name, as others read it
            """, subcommands: [Show.self, Do.self, Web.self, Demo.self, SignIn.self, SignOut.self])

    static func main() async {
        StandardOutput.checkAtExit()
        AppLog.begin(ProcessInfo.processInfo.environment)
        await main(nil)
    }

    static let containerIdentifier = "iCloud.org.stratus.Shopping"

    @Option(
        help: ArgumentHelp(
            "The folder that keeps this device's lists; created if it does not exist.",
            discussion: "Default: stratus-shopping in $XDG_DATA_HOME or ~/.local/share.",
            valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Open this list, now or as soon as it appears.", valueName: "title"))
    var list: String?

    @Option(
        help: ArgumentHelp(
            "Send at most this many records in one request, from 1 to 400.", valueName: "n"))
    var uploadSize = 400

    @Flag(help: "Start offline; type online to connect.")
    var offline = false

    @Flag(help: "Ask for commands, in place of showing the list on the whole terminal.")
    var prompt = false

    func validate() throws {
        guard (1...400).contains(uploadSize) else {
            throw ValidationError(
                "--upload-size is \(uploadSize); give it a number from 1 to 400.")
        }
    }

    func run() async throws {
        let session = try await openSession()
        await session.begin(listTitle: list, isOnline: !offline)
        try await session.converse(hasScreen: !prompt)
        try await session.end()
    }

    /// The session of the signed-in user, not started yet.
    func openSession() async throws -> ShoppingSession {
        let (folder, account, store) = try await openLists()
        let terminal = TerminalOutput(isInteractive: isatty(STDIN_FILENO) != 0)
        return ShoppingSession(
            store: store, folder: folder, account: account, terminal: terminal,
            deviceName: account.deviceName ?? folder.notes.deviceName,
            formerListsNotice: folder.formerListsNotice())
    }

    /// The lists of the signed-in user.
    func openLists() async throws -> (DeviceFolder, Account, ShoppingStore) {
        do {
            let folder = try DeviceFolder(path: data ?? DeviceFolder.standardPath)
            let container = Self.container(in: folder)
            let account = Account(
                environment: ProcessInfo.processInfo.environment,
                signedIn: container.connection.signedInUserRecordName, app: "shopping",
                content: "The lists stay", keepsSignIn: folder.keepsSignIn)
            return (folder, account, try await openStore(in: folder, account, container))
        } catch let error as DeviceFolder.Failure {
            throw OneSentence(error.description)
        } catch let error as CacheError {
            throw OneSentence(error.description)
        }
    }

    func openStore(
        in folder: DeviceFolder, _ account: Account, _ container: CKContainer
    ) async throws -> ShoppingStore {
        var settings = ShoppingStore.watchedPace
        settings.itemsPerBatch = uploadSize
        let deviceName = account.deviceName ?? folder.notes.deviceName
        let owner = try await account.owner(
            knownTokens: folder.knownTokens,
            asking: offline ? nil : { try await container.userRecordID().recordName })
        func open(_ owner: AccountOwner) async throws -> ShoppingStore {
            try await ShoppingStore.open(
                path: folder.listsPath(of: owner), container: container, device: deviceName,
                author: account.author, settings: settings)
        }
        let store = try await open(owner)
        if owner != .nobody { try await store.claimLists() }
        if owner != .nobody, folder.hasOwnerlessLists {
            let local = try await open(.nobody)
            try await store.adoptLists(of: local)
            try await local.close()
            folder.removeOwnerlessLists()
        }
        return store
    }
}

extension Shopping {
    /// The app's container; the sign-in belongs to the device, and is stored with its lists.
    static func container(in folder: DeviceFolder) -> CKContainer {
        folder.container(containerIdentifier)
    }
}

import AppDevice
import ArgumentParser
import CloudKit
import NotesCore
import StratusRuntime

/// `notes`: one note in the terminal, the same on all devices of its user.
@main
struct Notes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes",
        abstract: "Keep one note that works offline and is the same on all your devices.",
        discussion: """
            Type commands; ? lists them. From a pipe, every line is a command, there is no prompt, and each command's \
            output ends with a line that is just a full stop. NO_COLOR leaves colours out.

            Without further settings the note stays on this device. To have it on all of them, name a Stratus \
            service, and sign in there with `notes sign-in`:
              STRATUS_URL             its address, such as http://127.0.0.1:8080
              STRATUS_API_TOKEN       the app's token there; who runs the service makes it with
                                      stratus token create --loopback
                                        --container \(Self.containerIdentifier)
              STRATUS_WEB_AUTH_TOKEN  who you are, instead of signing in
              STRATUS_DEV_USER        who you are, at a service that runs with --dev
              STRATUS_LOG             a level, such as debug, to have log lines on standard error
            """, subcommands: [Show.self, Do.self, SignIn.self, SignOut.self])

    static func main() async {
        StandardOutput.checkAtExit()
        AppLog.begin(ProcessInfo.processInfo.environment)
        await main(nil)
    }

    static let containerIdentifier = "iCloud.org.stratus.Notes"

    @Option(
        help: ArgumentHelp(
            "The folder that keeps this device's note; created if it does not exist.",
            discussion: "Default: stratus-notes in $XDG_DATA_HOME or ~/.local/share.",
            valueName: "dir"))
    var data: String?

    @Flag(help: "Start offline; type online to connect.")
    var offline = false

    func run() async throws {
        let session = try await openSession()
        await session.converse()
        await session.end()
    }

    /// The session of the signed-in user, not started yet.
    func openSession() async throws -> NotesSession {
        do {
            let folder = try LockedFolder(
                path: data ?? LockedFolder.standardPath(app: "notes"), app: "notes")
            let container = folder.container(Self.containerIdentifier)
            let account = Account(
                environment: ProcessInfo.processInfo.environment,
                signedIn: container.connection.signedInUserRecordName, app: "notes",
                content: "The note stays", keepsSignIn: folder.keepsSignIn)
            let owner = try await account.owner(
                knownTokens: folder.knownTokens,
                asking: offline ? nil : { try await container.userRecordID().recordName })
            let controller = try NoteController(
                container: container, folder: folder.path, owner: owner.fileName)
            return NotesSession(
                controller: controller, folder: folder, account: account, isOffline: offline)
        } catch let error as LockedFolder.Failure {
            throw OneSentence(error.description)
        }
    }
}

extension AccountOwner {
    /// Nil before a user has signed in.
    fileprivate var fileName: String? {
        switch self {
        case .nobody: nil
        case .developmentUser(let name): "user-" + name
        case .user(let recordName): recordName
        }
    }
}

import ArgumentParser
import Foundation
import StratusClient
import StratusRuntime

/// Signs a person, or a script, in at a Stratus service.
@main
struct StratusLogin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus-login",
        abstract: "Sign in at a Stratus service, for scripts and for apps that share the sign-in.",
        discussion: """
            The service's page opens in a browser. With --email a password is read instead: typed without \
            echo, or a line of standard input. The sign-in is kept where apps of the same user find it \
            (--keys); no token is printed unless --print-token asks for it.

              STRATUS_URL=https://cloud.example.org STRATUS_API_TOKEN=… stratus-login \\
                --container iCloud.org.example.Trails --env-file trails.env
            """)

    static func main() async {
        StandardOutput.checkAtExit()
        await main(nil)
    }

    @Option(help: ArgumentHelp("The app's container; default: STRATUS_CONTAINER."))
    var container: String?

    @Option(help: ArgumentHelp("The service's address; default: STRATUS_URL.", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            """
            The folder that keeps the sign-in; default: STRATUS_KEY_FOLDER, else the user's own \
            (~/.local/share/stratus/keys).
            """, valueName: "dir"))
    var keys: String?

    @Option(
        help: ArgumentHelp(
            "Sign in without a browser, by this e-mail address and a password that is read."))
    var email: String?

    @Flag(help: "Sign out: end the session and remove the stored sign-in.")
    var signOut = false

    @Flag(help: "Print who is signed in; the status is 1 if no user is signed in.")
    var status = false

    @Flag(
        help: """
            List where the account is signed in: identifier, device, when it was last used, and a star for \
            here; a line each, with tabs between.
            """)
    var sessions = false

    @Option(
        help: ArgumentHelp(
            "End another session, by its name in --sessions.", valueName: "id"))
    var endSession: String?

    @Flag(help: "Print the web-auth token, and nothing else, to standard output.")
    var printToken = false

    @Option(
        help: ArgumentHelp(
            """
            Write STRATUS_URL, STRATUS_API_TOKEN, STRATUS_CONTAINER and STRATUS_WEB_AUTH_TOKEN to this \
            file, which only this user may read.
            """, valueName: "file"))
    var envFile: String?

    func validate() throws {
        guard !signOut || !(printToken || envFile != nil || email != nil || status) else {
            throw ValidationError(
                "--sign-out was given with --email, --status, --print-token or --env-file, which need"
                    + " the sign-in. Give it alone.")
        }
    }

    func run() async throws {
        var variables = ProcessInfo.processInfo.environment
        variables["STRATUS_URL"] = url ?? variables["STRATUS_URL"]
        variables["STRATUS_KEY_FOLDER"] = keys ?? variables["STRATUS_KEY_FOLDER"]
        // A user named by the environment was not signed in by this program.
        variables["STRATUS_WEB_AUTH_TOKEN"] = nil
        variables["STRATUS_DEV_USER"] = nil
        guard let name = container ?? variables["STRATUS_CONTAINER"], !name.isEmpty else {
            throw OneSentence("No container is named; give --container or set STRATUS_CONTAINER.")
        }
        let app = CKContainer(
            identifier: name, connection: CloudConnection(environmentVariables: variables))
        do {
            try await act(app, variables)
        } catch let error as CKError {
            throw OneSentence(error.localizedDescription)
        }
    }

    private func act(_ app: CKContainer, _ variables: [String: String]) async throws {
        if signOut {
            let wasSignedIn = app.connection.hasAccount
            try await app.signOut()
            let name = app.containerIdentifier ?? ""
            return printStatus(
                wasSignedIn ? "Signed out of \(name)." : "No user was signed in to \(name).")
        }
        let known = try await app.accountStatus()
        if known != .available || email != nil, !status {
            if let email {
                try await app.signIn(emailAddress: email, password: try PasswordPrompt.read())
            } else {
                try await app.signIn()
            }
        } else if known != .available {
            printStatus(
                "No user is signed in to \(app.containerIdentifier ?? ""); run stratus-login without"
                    + " --status to sign in.")
            throw ExitCode(1)
        }
        printStatus("Signed in as \(try await app.userRecordID().recordName).")
        if sessions || endSession != nil { try await listSessions(app) }
        guard printToken || envFile != nil else { return }
        let token = try await token(of: app, variables)
        if let envFile { try write(token, to: envFile, variables) }
        if printToken { print(token) }
    }

    private func listSessions(_ app: CKContainer) async throws {
        let name = app.containerIdentifier ?? ""
        var all = try await app.connection.sessions(container: name)
        if let endSession {
            guard let found = all.first(where: { $0.id == endSession }) else {
                throw OneSentence(
                    "The account has no session \(endSession); --sessions lists those that it has.")
            }
            all = try await app.connection.revoke([found], container: name)
        }
        guard sessions else { return }
        for session in all {
            let fields = [
                session.id, session.deviceID ?? "-", session.lastUseDate.formatted(.iso8601),
                session.isCurrent ? "*" : "",
            ]
            print(fields.joined(separator: "\t"))
        }
    }

    /// Returns a token of this sign-in's session, with which it ends.
    private func token(
        of app: CKContainer, _ variables: [String: String]
    ) async throws -> String {
        let operation = CKFetchWebAuthTokenOperation(
            apiToken: variables["STRATUS_API_TOKEN"] ?? "development")
        return try await withCheckedThrowingContinuation { continuation in
            operation.fetchWebAuthTokenResultBlock = { continuation.resume(with: $0) }
            app.privateCloudDatabase.add(operation)
        }
    }

    private func write(
        _ token: String, to path: String, _ variables: [String: String]
    ) throws {
        var lines = ["STRATUS_WEB_AUTH_TOKEN=\(token)"]
        let names = ["STRATUS_URL", "STRATUS_API_TOKEN", "STRATUS_ENVIRONMENT"]
        lines += names.compactMap { name in variables[name].map { "\(name)=\($0)" } }
        if let name = container ?? variables["STRATUS_CONTAINER"] {
            lines.append("STRATUS_CONTAINER=\(name)")
        }
        // A draft beside the file, created with mode 0600, replaces it atomically.
        var draft = Array((path + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&draft)
        let unwritable = OneSentence(
            "The file \(path) cannot be written; give --env-file a file in a writable folder.")
        guard descriptor >= 0 else { throw unwritable }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(
                contentsOf: Data(lines.sorted().map { $0 + "\n" }.joined().utf8))
            try handle.synchronize()
            guard rename(draft, path) == 0 else { throw unwritable }
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Written to standard error, because standard output is only for the token.
    private func printStatus(_ sentence: String) {
        FileHandle.standardError.write(Data((sentence + "\n").utf8))
    }
}

import ArgumentParser
import Foundation
import StratusRecords
import StratusRuntime
import StratusService
import StratusStorage

/// `stratus user`: the people who have accounts.
struct User: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list, disable and delete accounts.",
        discussion: """
            USER is a record name, a sign-in name or an e-mail address. Passwords are read from \
            standard input, one per line. A running service notices a change within two seconds.
            """,
        subcommands: [
            Create.self, List.self, Disable.self, Enable.self, Verify.self, Password.self,
            Export.self, Delete.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an account, with a password from standard input.",
            discussion: "Print the user's record name.")

        @OptionGroup var folder: CommandFolder

        @Option(help: "The e-mail address to sign in with.")
        var email: String

        @Option(help: "The given name.")
        var givenName: String = ""

        @Option(help: "The family name.")
        var familyName: String = ""

        @Flag(help: "Mark the e-mail address as verified, so that others can share with it.")
        var verified = false

        func run() async throws {
            let password = try PasswordPrompt.read()
            try await folder.withService(makesFolder: true) { service in
                let user = try await service.accounts.createUser(
                    emailAddress: email, password: password, givenName: givenName,
                    familyName: familyName, isEmailVerified: verified)
                print(user.recordName)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                List users, a line each, with tabs between: record name, sign-in name, enabled or disabled, \
                verified or unverified, time of creation.
                """)

        @OptionGroup var folder: CommandFolder

        /// Users that are read at a time.
        private static let page = 1_000

        func run() async throws {
            try await folder.withService { service in
                var last = ""
                while true {
                    let users = try await service.accounts.users(after: last, limit: Self.page)
                    for user in users { print(Self.line(user)) }
                    guard let end = users.last, users.count == Self.page else { return }
                    last = end.recordName
                }
            }
        }

        private static func line(_ user: UserRow) -> String {
            [
                user.recordName, user.name, user.isDisabled ? "disabled" : "enabled",
                user.isEmailVerified ? "verified" : "unverified",
                user.createdMilliseconds.printedTime,
            ].joined(separator: "\t")
        }
    }

    /// The account that a command is about, and the folder that it is in.
    struct NamedAccount: ParsableArguments {
        @OptionGroup var folder: CommandFolder
        @Argument(help: "A record name, sign-in name or e-mail address.") var user: String
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Disable an account, so that its user cannot sign in; the records stay.")

        @OptionGroup var account: NamedAccount

        func run() async throws {
            try await account.folder.withService {
                try await $0.accounts.setDisabled(true, account.user)
            }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Enable a disabled account.")

        @OptionGroup var account: NamedAccount

        func run() async throws {
            try await account.folder.withService {
                try await $0.accounts.setDisabled(false, account.user)
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Mark the e-mail address as verified, so that others can share with it.")

        @OptionGroup var account: NamedAccount

        @Flag(help: "Mark the e-mail address as not verified.")
        var undo = false

        func run() async throws {
            try await account.folder.withService {
                try await $0.accounts.setEmailVerified(!undo, account.user)
            }
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a user's password, and end all sessions.")

        @OptionGroup var account: NamedAccount

        func run() async throws {
            let password = try PasswordPrompt.read()
            try await account.folder.withService {
                try await $0.accounts.setPassword(password, account.user)
            }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Write a user's private databases, and what the user made in public ones, to a new tar file.",
            discussion: """
                Records are lines of JSON, assets are files; account.json says whose they are. Encrypted \
                values are as the service has them. The file has its name once it is complete. A command \
                that was stopped may leave a part of it, whose name has a full stop and six characters \
                more; remove it.
                """)

        @OptionGroup var account: NamedAccount

        @Option(name: .shortAndLong, help: "The file to write; it must not exist.")
        var output: String

        func run() async throws {
            try await account.folder.withService { service in
                let row = try await service.accounts.user(account.user)
                try checkOutput()
                // An incomplete archive could be taken for a complete one, so a draft beside it gets the name at last.
                var draft = Array((output + ".XXXXXX").utf8CString)
                let descriptor = mkstemp(&draft)
                guard descriptor >= 0 else { throw unwritable }
                let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                do {
                    try await service.writeArchive(of: row) { bytes in
                        try writing { try handle.write(contentsOf: Data(bytes)) }
                    }
                    try writing { try handle.synchronize() }
                    // The archive took its time, in which another file may have got the name.
                    try checkOutput()
                    guard rename(draft, output) == 0 else { throw unwritable }
                } catch {
                    unlink(draft)
                    throw error
                }
                let folder = URL(fileURLWithPath: output).deletingLastPathComponent().path
                let code = DurableFile.sync(folder)
                // A file system that cannot flush folders returns EINVAL.
                guard code == 0 || code == EINVAL else {
                    throw OneSentence(
                        "The archive \(output) is complete, but the folder \(folder) was not flushed"
                            + " to the disk. Check the disk, and export to another file.")
                }
            }
        }

        private func writing(_ body: () throws -> Void) throws {
            do {
                try body()
            } catch {
                let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
                let reason = cause.map { String(cString: strerror(Int32($0.code))) } ?? "\(error)"
                throw OneSentence(
                    "The archive was not written to \(output) (\(reason)); check the free space there,"
                        + " or name another place with --output.")
            }
        }

        private func checkOutput() throws {
            guard access(output, F_OK) != 0 else { throw unwritable }
        }

        private var unwritable: OneSentence {
            OneSentence(
                "The file \(output) exists already or cannot be created; name another with"
                    + " --output.")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an account with its sessions and keys; the records stay.",
            discussion: """
                Print the user's record name. With --with-records, also delete everything in the \
                private databases and the records that the user created in public ones, and leave \
                other people's shares. A public record that others' records need stays, without its \
                fields. If the command is stopped, the service continues at its next start. Of each \
                private database only this file remains: databases/…/RECORD-NAME.sqlite; remove it \
                while the service is stopped.
                """)

        @OptionGroup var account: NamedAccount

        @Flag(help: "Delete the records too; needs --confirm.")
        var withRecords = false

        @Option(
            help: ArgumentHelp(
                "The same USER again, to confirm that the records are deleted.",
                valueName: "user"))
        var confirm: String?

        func validate() throws {
            // Once the account is deleted, no command finds its records.
            guard confirm == nil || withRecords else {
                throw ValidationError(
                    "--confirm is given without --with-records; give both to delete the records"
                        + " too, or neither to keep them.")
            }
        }

        func run() async throws {
            try await account.folder.withService { service in
                let row = try await service.accounts.user(account.user)
                if withRecords {
                    guard confirm == account.user else {
                        throw OneSentence("Nothing was deleted: add --confirm \(account.user)")
                    }
                    try await service.deleteAccount(of: row)
                } else {
                    _ = try await service.accounts.deleteUser(row.recordName)
                }
                print(row.recordName)
            }
        }
    }
}

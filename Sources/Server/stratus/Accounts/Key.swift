import ArgumentParser
import Foundation
import StratusRecords
import StratusRuntime

/// `stratus key`: the public keys of servers that sign their requests.
struct Key: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Register, list and revoke the keys of servers.",
        discussion: """
            A server with a registered key reads and writes the public database of one container, \
            under a user of its own. Make a key:

              openssl ecparam -name prime256v1 -genkey -noout -out key.pem
              openssl ec -in key.pem -pubout -out public.pem
              stratus key add --container iCloud.org.example.Trails public.pem
            """,
        subcommands: [Add.self, List.self, Revoke.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a public key, and print STRATUS_KEY_ID=….")

        @OptionGroup var folder: CommandFolder
        @OptionGroup var container: CommandContainer

        @Option(help: "The name of the server that has the key; shown in lists.")
        var name: String = "server"

        @Argument(help: "The file of the public key, in PEM.")
        var file: String

        func run() async throws {
            let pem: String
            do {
                pem = try String(contentsOfFile: file, encoding: .utf8)
            } catch {
                throw OneSentence("The key's file cannot be read: \(file). Check its path.")
            }
            try await folder.withService(makesFolder: true) { service in
                let key = try await service.accounts.addServerKey(
                    pem, name: name, for: container.address)
                print("STRATUS_KEY_ID=\(key.identifier)")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: """
                List keys, a line each, with tabs between: identifier, container, environment, time of \
                registration, user, name.
                """)

        @OptionGroup var folder: CommandFolder

        func run() async throws {
            try await folder.withService { service in
                for key in try await service.accounts.serverKeys() {
                    printRow(
                        key.identifier, key.address.container, key.address.environment.rawValue,
                        key.createdMilliseconds.printedTime, key.userRecordName, key.name)
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key; a running service refuses it within two seconds.")

        @OptionGroup var folder: CommandFolder

        @Argument(help: "The key's identifier, as `stratus key list` shows it.")
        var identifier: String

        func run() async throws {
            try await folder.withService { try await $0.accounts.revokeServerKey(identifier) }
        }
    }
}

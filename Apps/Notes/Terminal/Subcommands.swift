import AppDevice
import ArgumentParser
import CloudKit
import NotesCore
import StratusRuntime

extension Notes {
    /// `notes show`: the note, and nothing else.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the note.")

        @ParentCommand var notes: Notes

        @Flag(help: "Print JSON, with what is known of the cloud.")
        var json = false

        func run() async throws {
            try await notes.once { session in
                json ? try await session.json() : await session.controller.text
            }
        }
    }

    /// `notes do add milk`: one command of the prompt.
    struct Do: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run one command of the prompt, such as: notes do add milk.")

        @ParentCommand var notes: Notes

        @Argument(help: "The command; notes do help lists them.")
        var words: [String] = []

        func run() async throws {
            let command = try NoteCommand(words.joined(separator: " "))
            try await notes.once { try await $0.answer(to: command) }
        }
    }

    /// `notes sign-in`: the service's page in the browser, and back.
    struct SignIn: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign in on the service's page, in a browser; this device stays signed in.")

        @ParentCommand var notes: Notes

        func run() async throws {
            try await notes.once { session in
                do {
                    try await session.controller.container.signIn()
                } catch let error as CKError {
                    throw OneSentence(error.localizedDescription)
                }
                await session.controller.accountChanged()
                return "You are signed in. Your note:\n" + (await session.controller.text)
            }
        }
    }

    /// `notes sign-out`: ends the session of this device.
    struct SignOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send what is pending, remove the note from this device, and sign out.")

        @ParentCommand var notes: Notes

        @Flag(help: "Sign out also when not all can be sent; what was not sent is lost.")
        var anyway = false

        func run() async throws {
            try await notes.once { try await $0.signOut(anyway: anyway) }
        }
    }

    /// Does one thing and sends it.
    private func once(_ body: (NotesSession) async throws -> String) async throws {
        let session = try await openSession()
        await session.begin(isQuiet: true)
        let result: Result<String, any Error>
        do {
            result = .success(try await body(session))
        } catch {
            // Thrown after the session has ended.
            result = .failure(error)
        }
        await session.end()
        let text = try result.get()
        if !text.isEmpty { print(text) }
    }
}

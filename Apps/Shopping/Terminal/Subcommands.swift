import AppDevice
import ArgumentParser
import ShoppingCore
import StratusRuntime

extension Shopping {
    /// `shopping show`: the list, and nothing else.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the list.")

        @ParentCommand var shopping: Shopping

        @Flag(help: "Print JSON, for programs.")
        var json = false

        func run() async throws {
            try await shopping.once { session in
                json ? try await session.json() : try await session.answer(to: .show)
            }
        }
    }

    /// `shopping do add milk`: one command of the prompt.
    struct Do: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run one command of the prompt, such as: shopping do add milk.")

        @ParentCommand var shopping: Shopping

        @Argument(help: "The command; shopping do help lists them.")
        var words: [String] = []

        func run() async throws {
            let command = try Command(words.joined(separator: " "))
            try await shopping.once { try await $0.answer(to: command) }
        }
    }

    /// Does one thing and sends it.
    private func once(_ body: (ShoppingSession) async throws -> String) async throws {
        let session = try await openSession()
        await session.beginQuietly(listTitle: list, isOnline: !offline)
        do {
            let text = try await body(session).shownInTerminal
            if !text.isEmpty { print(text, terminator: text.hasSuffix("\n") ? "" : "\n") }
        } catch let error as CannotDo {
            try await session.end()
            throw OneSentence(error.description)
        }
        try await session.end()
    }
}

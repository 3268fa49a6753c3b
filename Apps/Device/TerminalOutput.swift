import Foundation
import StratusRuntime
import Synchronization

/// Standard output, shared by commands and by changes that arrive at any time; neither lines nor the outputs of
/// commands are interleaved.
package final class TerminalOutput: Sendable {
    package let isInteractive: Bool
    /// The prompt at the beginning of the current line; nil while a command runs.
    private let shownPrompt = Mutex<String?>(nil)

    package init(isInteractive: Bool) {
        self.isInteractive = isInteractive
    }

    /// Asks for the next command, when there is a person to ask.
    package func prompt(_ text: String) {
        guard isInteractive else { return }
        shownPrompt.withLock { shown in
            shown = text
            write(text)
        }
    }

    /// Notes that the person has pressed return.
    package func lineEntered() { shownPrompt.withLock { $0 = nil } }

    /// Prints a command's output; for a script, followed by a line with a full stop.
    package func answer(_ text: String) {
        shownPrompt.withLock { _ in
            let text = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
            write(isInteractive ? text : text + ".\n")
        }
    }

    /// Prints a line that no command asked for, above the prompt.
    package func announce(_ line: String) {
        shownPrompt.withLock { shown in
            if let shown {
                write("\r\u{1B}[K\(line)\n\(shown)")
            } else {
                write(line + "\n")
            }
        }
    }

    /// Rings the terminal's bell.
    package func ring() { write("\u{7}") }

    private func write(_ text: String) {
        print(text, terminator: "")
        StandardOutput.flush()
    }
}

/// The lines of standard input, read one at a time on a thread that may wait.
package struct InputLines: Sendable {
    private let queue = DispatchQueue(label: "app.input")

    package init() {}

    /// The next line without its end; nil at the end of the input.
    package func next() async -> String? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: readLine()) }
        }
    }
}

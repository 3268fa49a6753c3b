import Foundation

/// Asks for a password: at a terminal without showing what is typed, otherwise on standard input.
///
/// A password is not an argument of a command, since every user of the machine could read that.
package enum PasswordPrompt {
    /// Reads a line of standard input.
    ///
    /// - Throws: ``OneSentence`` when there is none, or an empty one.
    package static func read() throws -> String {
        let isTerminal = isatty(STDIN_FILENO) == 1
        var settings = termios()
        if isTerminal, tcgetattr(STDIN_FILENO, &settings) == 0 {
            // The echo is turned off before the question is printed, so that characters typed early
            // are not shown either.
            var silent = settings
            silent.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
            FileHandle.standardError.write(Data("Password: ".utf8))
        }
        defer {
            if isTerminal {
                tcsetattr(STDIN_FILENO, TCSANOW, &settings)
                FileHandle.standardError.write(Data("\n".utf8))
            }
        }
        guard let password = readLine(strippingNewline: true), !password.isEmpty else {
            throw OneSentence("Standard input has no password; give it there as one line.")
        }
        return password
    }
}

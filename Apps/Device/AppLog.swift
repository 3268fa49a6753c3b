import Logging

/// The log of the libraries in an app whose user reads the terminal.
package enum AppLog {
    /// Turns off log lines in the terminal: the app itself reports what a person must know. Call it
    /// before everything else.
    ///
    /// - Parameter environment: `STRATUS_LOG` with a level, such as `debug`, has the lines on standard error.
    package static func begin(_ environment: [String: String]) {
        let level = environment["STRATUS_LOG"].flatMap { Logger.Level(rawValue: $0.lowercased()) }
        LoggingSystem.bootstrap { label in
            guard let level else { return SwiftLogNoOpLogHandler() }
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
    }
}

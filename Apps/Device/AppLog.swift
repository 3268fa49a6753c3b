import Logging

/// What the libraries below write to logs, in an app whose person reads the terminal.
package enum AppLog {
    /// Keeps log lines from the terminal: what a person must know, the app says itself. Comes before everything else.
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

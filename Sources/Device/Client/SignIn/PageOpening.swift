import Foundation

/// Shows a web page to the person.
enum PageOpening {
    /// Opens an address in the browser, and writes it to the terminal for machines without one.
    static func open(_ url: URL) {
        let words = "To sign in, open this address in a browser:\n  \(url.absoluteString)\n"
        FileHandle.standardError.write(Data(words.utf8))
        #if os(Linux) || os(macOS)
            let variables = ProcessInfo.processInfo.environment
            #if os(Linux)
                guard variables["DISPLAY"] != nil || variables["WAYLAND_DISPLAY"] != nil else {
                    return
                }
                let program = "xdg-open"
            #else
                let program = "open"
            #endif
            // The shell ends at once, and the browser runs on its own. The address is an argument,
            // not a part of the command.
            let command = "command -v \(program) >/dev/null && \(program) \"$1\" >/dev/null 2>&1 &"
            let parts = ["/bin/sh", "-c", command, "sh", url.absoluteString]
            let arguments: [UnsafeMutablePointer<CChar>?] = parts.map { strdup($0) } + [nil]
            defer { for text in arguments { free(text) } }
            var identifier: pid_t = 0
            guard posix_spawn(&identifier, "/bin/sh", nil, nil, arguments, environ) == 0 else {
                return
            }
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        #endif
    }
}

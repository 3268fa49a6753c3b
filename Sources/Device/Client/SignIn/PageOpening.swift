import Foundation

/// Shows a page to the person.
enum PageOpening {
    /// Opens an address in the person's browser, and writes it to the terminal for who has none here.
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
            // A shell that goes at once: the browser may stay as long as it likes. The address is an
            // argument, never a part of the command.
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

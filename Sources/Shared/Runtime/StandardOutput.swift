#if canImport(Glibc)
    // Glibc declares the streams as variables, which this attribute allows to read. It has no effect after an import of
    // Foundation.
    @preconcurrency import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What `print` writes. `print` drops errors, so a list that is written to a full disk would end early and seem
/// complete.
package enum StandardOutput {
    /// Has the process end with a sentence and the status 1 if not all that it printed was written.
    ///
    /// A program calls it before all else. A reader that has closed its pipe, such as `head`, wants no more: nothing is
    /// reported then.
    package static func checkAtExit() {
        atexit {
            let isWritten = fflush(stdout) == 0 && ferror(stdout) == 0
            guard !isWritten, !StandardOutput.isClosedByReader() else { return }
            fputs(
                "Error: The output was not written to its end: it takes no more. Check its disk's"
                    + " free space, and run the command again.\n", stderr)
            _exit(1)
        }
    }

    /// Writes at once what `print` has kept back, as it does if the output is no terminal.
    package static func flush() {
        fflush(stdout)
    }

    private static func isClosedByReader() -> Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&output, 1, 0) == 1 else { return false }
        return Int32(output.revents) & (POLLERR | POLLHUP) != 0
    }
}

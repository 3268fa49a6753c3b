import Foundation
import Synchronization

/// A terminal in raw mode: keys come one by one, and a screen is drawn over the whole of it.
///
/// The terminal is restored when this is deallocated, also after a signal that ends the process.
final class TerminalScreen: Sendable {
    /// The terminal's former settings, for a signal handler, which can access nothing else.
    private static let former = Mutex<termios?>(nil)
    private let shown = Mutex<(rows: [String], width: Int)>(([], 0))

    /// Takes the terminal over; nil if standard input or output is not a terminal.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) != 0, isatty(STDOUT_FILENO) != 0,
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        let before = settings
        Self.former.withLock { $0 = before }
        cfmakeraw(&settings)
        // Signals of the keyboard still end the app.
        settings.c_lflag |= tcflag_t(ISIG)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                TerminalScreen.leave()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
        // The alternate screen, without a cursor.
        Self.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    deinit { Self.leave() }

    private static func leave() {
        write("\u{1B}[?25h\u{1B}[?1049l")
        guard var settings = former.withLock({ $0 }) else { return }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// The terminal's columns and lines; 80×24 if it does not report them.
    var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Runs work whenever the window changes its size, until the watch is cancelled.
    func onResize(_ work: @escaping @Sendable () async -> Void) -> any DispatchSourceSignal {
        let source = DispatchSource.makeSignalSource(
            signal: SIGWINCH, queue: DispatchQueue(label: "shopping.size"))
        source.setEventHandler { Task { await work() } }
        source.resume()
        return source
    }

    /// Draws the rows that changed; all of them in a window of another size, which may show anything.
    func draw(_ rows: [String], width: Int) {
        let text = shown.withLock { shown in
            var text = ""
            if shown.rows.count != rows.count || shown.width != width {
                text = "\u{1B}[2J"
                shown.rows = []
            }
            for (index, row) in rows.enumerated()
            where shown.rows.indices.contains(index) ? shown.rows[index] != row : true {
                text += "\u{1B}[\(index + 1);1H\(row)\u{1B}[K"
            }
            shown = (rows, width)
            return text
        }
        Self.write(text)
    }

    private static func write(_ text: String) {
        // If the terminal is gone, neither the rest nor an error can be shown.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}

/// The keys that a person presses, read on a thread that may wait.
struct ScreenKeys: Sendable {
    private let queue = DispatchQueue(label: "shopping.keys")

    /// The next keys, at least one; nil at the end of the input.
    func next(after rest: [UInt8]) async -> (keys: [ScreenKey], rest: [UInt8])? {
        await withCheckedContinuation { continuation in
            queue.async {
                var bytes = rest
                while true {
                    var buffer = [UInt8](repeating: 0, count: 256)
                    let count = read(STDIN_FILENO, &buffer, buffer.count)
                    // A signal, such as a new size of the window, is not the end.
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return continuation.resume(returning: nil) }
                    bytes += buffer.prefix(count)
                    let read = ScreenKey.read(bytes)
                    if !read.keys.isEmpty { return continuation.resume(returning: read) }
                    bytes = read.rest
                }
            }
        }
    }
}

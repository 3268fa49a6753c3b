import Foundation
import NIOHTTP1

/// What an answer tells of the service's clock, also one that refuses.
package struct AnswerTime: Hashable, Sendable {
    /// When the service wrote the answer, in milliseconds since 1970 by its clock; rounded down.
    package var milliseconds: Int64
    /// In what steps: 1, or 1,000 where only the header `Date` tells.
    package var stepMilliseconds: Int64
    /// How long before the answer came the request was sent, at the most.
    package var elapsedMilliseconds: Int64

    package init(
        milliseconds: Int64, stepMilliseconds: Int64 = 1, elapsedMilliseconds: Int64 = 0
    ) {
        self.milliseconds = milliseconds
        self.stepMilliseconds = stepMilliseconds
        self.elapsedMilliseconds = elapsedMilliseconds
    }

    /// Is told of every answer as it comes, within the task that asked.
    ///
    /// A task's own value and no part of a transport, so that transports that only hand on need not know.
    @TaskLocal package static var listener: Listener?

    /// Not a bare closure: with Swift 6.3 an optimized build has no metadata of a task's own value that is one,
    /// and ends at the first.
    package struct Listener: Sendable {
        private let hear: @Sendable (AnswerTime) -> Void

        package init(_ hear: @escaping @Sendable (AnswerTime) -> Void) { self.hear = hear }

        package func callAsFunction(_ time: AnswerTime) { hear(time) }
    }
}

extension AnswerTime {
    /// Our header, which whoever knows our extensions is answered with.
    static let headerName = "X-Stratus-Time"

    init?(_ headers: HTTPHeaders) {
        if let text = headers.first(name: Self.headerName), let milliseconds = Int64(text) {
            self.init(milliseconds: milliseconds)
        } else if let text = headers.first(name: "Date"), let date = Self.date(text) {
            self.init(
                milliseconds: Int64(date.timeIntervalSince1970) * 1_000, stepMilliseconds: 1_000)
        } else {
            return nil
        }
    }

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}

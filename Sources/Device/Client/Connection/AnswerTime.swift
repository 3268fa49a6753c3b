import Foundation
import NIOHTTP1

/// The service's clock as stated in an answer or a refusal.
package struct AnswerTime: Hashable, Sendable {
    /// When the service wrote the answer, in milliseconds since 1970 by its clock; rounded down.
    package var milliseconds: Int64
    /// The resolution: 1, or 1,000 if only the header `Date` gives the time.
    package var stepMilliseconds: Int64
    /// The maximum time from sending the request to the answer, in milliseconds.
    package var elapsedMilliseconds: Int64

    package init(
        milliseconds: Int64, stepMilliseconds: Int64 = 1, elapsedMilliseconds: Int64 = 0
    ) {
        self.milliseconds = milliseconds
        self.stepMilliseconds = stepMilliseconds
        self.elapsedMilliseconds = elapsedMilliseconds
    }

    /// Called with the time of every answer, within the task that made the request.
    ///
    /// A task-local value rather than a part of `Transport`, so that transports that wrap another
    /// need not pass it on.
    @TaskLocal package static var listener: Listener?

    /// Not a bare closure: with Swift 6.3 an optimized build lacks the metadata of a task-local
    /// closure and crashes at its first use.
    package struct Listener: Sendable {
        private let receive: @Sendable (AnswerTime) -> Void

        package init(_ receive: @escaping @Sendable (AnswerTime) -> Void) { self.receive = receive }

        package func callAsFunction(_ time: AnswerTime) { receive(time) }
    }
}

extension AnswerTime {
    /// Stratus's header, which is sent to clients that know its extensions.
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

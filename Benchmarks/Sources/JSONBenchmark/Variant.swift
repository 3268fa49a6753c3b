import Foundation

/// One way to do the work, and the times that it took.
final class Variant {
    private let name: String
    private let work: () throws -> Void
    private var nanoseconds: [Double] = []

    init(_ name: String, work: @escaping () throws -> Void) {
        self.name = name
        self.work = work
    }

    /// Repeats the work for about 50 ms and notes the mean.
    func run(isRecorded: Bool) throws {
        let start = Self.now()
        var calls = 0
        var elapsed = 0.0
        repeat {
            try work()
            calls += 1
            elapsed = Self.now() - start
        } while elapsed < 50_000_000
        if isRecorded { nanoseconds.append(elapsed / Double(calls)) }
    }

    func summary(bytes: Int) -> String {
        let rates = nanoseconds.map { Double(bytes) * 1000 / $0 }.sorted()
        let figures = [rates[0], rates[rates.count / 2], rates[rates.count - 1]]
            .map { String(Int($0.rounded())) }.joined(separator: " / ")
        return name.padding(toLength: 42, withPad: " ", startingAt: 0) + figures
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1_000_000_000 + Double(time.tv_nsec)
    }
}

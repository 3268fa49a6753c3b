import StratusRecords

/// How long a client may take: for a request's head, for its body, and to take an answer. A value
/// without a clock; seconds are arguments.
///
/// Only the time counts that the client takes: not that in which the service does not read, or has
/// nothing to send. For a head there is a number of seconds; for a body and for an answer there is one
/// too, and more for the bytes that moved, at the slowest rate that is borne. So whatever trickles, each
/// ends.
struct ConnectionPace {
    /// What a client is too slow at.
    enum Delay: Equatable {
        case head
        case body
        case answer
    }

    private let headSeconds: Double
    private let bodySeconds: Double
    private let answerSeconds: Double
    private let bytesPerSecond: Double

    /// Since when a head is arriving.
    private var headBegan: Double?
    private var isBodyArriving = false
    private var bodyBytes = 0
    private var bodySecondsTaken = 0.0
    /// Since when the service waits for bytes of the client.
    private var readSince: Double?
    /// Since when there are bytes that the client has not taken.
    private var unsentSince: Double?
    private var answerSecondsTaken = 0.0
    private var answerBytes = 0

    init(_ limits: Limits) {
        headSeconds = limits.requestHeadSeconds
        bodySeconds = limits.requestReadSeconds
        answerSeconds = limits.answerWriteSeconds
        bytesPerSecond = Double(limits.minimumBytesPerSecond)
    }

    /// How often to look, where there is something to watch.
    var secondsPerLook: Double {
        max(0.02, min(1, min(headSeconds, bodySeconds, answerSeconds) / 4))
    }

    /// Whether something is under way whose time is limited.
    var isWatching: Bool { headBegan != nil || isBodyArriving || unsentSince != nil }

    // MARK: What happens

    mutating func reading(at now: Double) {
        if readSince == nil { readSince = now }
    }

    /// The service reads no further for now.
    mutating func paused(at now: Double) {
        if let readSince { bodySecondsTaken += now - readSince }
        readSince = nil
    }

    mutating func arrived(_ bytes: Int, at now: Double) {
        paused(at: now)
        if isBodyArriving {
            bodyBytes += bytes
        } else if headBegan == nil {
            headBegan = now
        }
    }

    /// A head is whole; its body begins.
    mutating func headEnded() {
        headBegan = nil
        isBodyArriving = true
        bodyBytes = 0
        bodySecondsTaken = 0
    }

    mutating func bodyEnded() {
        isBodyArriving = false
    }

    mutating func answerBegan() {
        answerSecondsTaken = 0
        answerBytes = 0
    }

    /// - Parameter unsentBytes: What the system has not taken yet of all that was written.
    mutating func wrote(_ bytes: Int, unsentBytes: Int, at now: Double) {
        answerBytes += bytes
        noteUnsent(unsentBytes, at: now)
    }

    mutating func noteUnsent(_ unsentBytes: Int, at now: Double) {
        if let unsentSince { answerSecondsTaken += now - unsentSince }
        unsentSince = unsentBytes > 0 ? now : nil
    }

    // MARK: What follows

    /// - Parameter unsentBytes: What the system has not taken yet of all that was written.
    mutating func delay(unsentBytes: Int, at now: Double) -> Delay? {
        noteUnsent(unsentBytes, at: now)
        if let headBegan, now - headBegan > headSeconds { return .head }
        if isBodyArriving {
            let taken = bodySecondsTaken + (readSince.map { now - $0 } ?? 0)
            if taken > bodySeconds + Double(bodyBytes) / bytesPerSecond { return .body }
        }
        if unsentSince != nil {
            let sent = max(0, answerBytes - unsentBytes)
            if answerSecondsTaken > answerSeconds + Double(sent) / bytesPerSecond { return .answer }
        }
        return nil
    }
}

import StratusRecords

/// How long a client may take to send a request's head and body, and to read an answer. A value without a clock;
/// seconds are arguments.
///
/// Only the client's time counts: not the time in which the service does not read, or has nothing to send. A head has a
/// number of seconds; a body and an answer have one too, and more for the bytes that moved, at the slowest rate that is
/// allowed. So every request ends, however slowly its bytes come.
struct ConnectionPace {
    /// What a client was too slow with.
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
    /// Since when the service has been waiting for bytes of the client.
    private var readSince: Double?
    /// Since when there have been bytes that the client has not read.
    private var unsentSince: Double?
    private var answerSecondsTaken = 0.0
    private var answerBytes = 0

    init(_ limits: Limits) {
        headSeconds = limits.requestHeadSeconds
        bodySeconds = limits.requestReadSeconds
        answerSeconds = limits.answerWriteSeconds
        bytesPerSecond = Double(limits.minimumBytesPerSecond)
    }

    /// Whether something with a time limit is running.
    var isWatching: Bool { headBegan != nil || isBodyArriving || unsentSince != nil }

    // MARK: What happens

    mutating func reading(at now: Double) {
        if readSince == nil { readSince = now }
    }

    /// Notes that the service stops reading for now.
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

    /// Notes that a head is complete; its body begins.
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

    /// - Parameter unsentBytes: How many of the written bytes the system has not taken yet.
    mutating func wrote(_ bytes: Int, unsentBytes: Int, at now: Double) {
        answerBytes += bytes
        noteUnsent(unsentBytes, at: now)
    }

    mutating func noteUnsent(_ unsentBytes: Int, at now: Double) {
        if let unsentSince { answerSecondsTaken += now - unsentSince }
        unsentSince = unsentBytes > 0 ? now : nil
    }

    // MARK: What follows

    /// In how many seconds the client can be too slow at the earliest; nil while nothing has a time limit.
    ///
    /// Thousands of heads that never end cost one check each, at their end. Unread bytes are checked once a second,
    /// since nothing reports when they are taken.
    func secondsUntilLook(at now: Double) -> Double? {
        let head = headBegan.map { $0 + headSeconds - now }
        // Its time grows with its bytes, and while the service does not read.
        let body =
            isBodyArriving
            ? max(bodyTime - bodyTaken(at: now), min(1, bodySeconds / 4)) : nil
        let answer = unsentSince == nil ? nil : min(1, answerSeconds / 4)
        guard let first = [head, body, answer].compactMap({ $0 }).min() else { return nil }
        // A little later, so that a limit that is reached is found exceeded.
        return max(0, first) + 0.02
    }

    private var bodyTime: Double { bodySeconds + Double(bodyBytes) / bytesPerSecond }

    private func bodyTaken(at now: Double) -> Double {
        bodySecondsTaken + (readSince.map { now - $0 } ?? 0)
    }

    /// - Parameter unsentBytes: How many of the written bytes the system has not taken yet.
    mutating func delay(unsentBytes: Int, at now: Double) -> Delay? {
        noteUnsent(unsentBytes, at: now)
        if let headBegan, now - headBegan > headSeconds { return .head }
        if isBodyArriving, bodyTaken(at: now) > bodyTime { return .body }
        if unsentSince != nil {
            let sent = max(0, answerBytes - unsentBytes)
            if answerSecondsTaken > answerSeconds + Double(sent) / bytesPerSecond { return .answer }
        }
        return nil
    }
}

import StratusRecords

/// A fault to inject into a service for development, for the tests of its users.
///
/// An extension: CloudKit has nothing like it. In JSON (``DevFaults``):
///
/// ```json
/// {"effect":"answer","times":2,"operation":"records/modify","serverErrorCode":"THROTTLED","retryAfter":3}
/// ```
public struct Fault: WireValue {
    /// What happens instead of an answer, before it, or after it.
    public enum Effect: Hashable, Sendable {
        /// The request is not served; this is the answer.
        case answer(ServiceError)
        /// The request is served after a time.
        case delay(seconds: Double)
        /// The request is not served, and the connection closes without an answer.
        case dropBeforeCommit
        /// The request is served, and the connection closes without an answer.
        case dropAfterCommit
        /// Every change token in the request has expired.
        case expireChangeTokens
        /// The zone named by ``Fault/zoneName`` is deleted in the caller's private database, then the
        /// request is served.
        case resetZone(ZoneResetReason)
        /// One of the user's notifications is lost.
        case dropNotification
        /// One of the user's notifications is delivered twice.
        case duplicateNotification
    }

    /// Why a zone was deleted; the words of ``ZoneDictionary/deletionReason``.
    public enum ZoneResetReason: String, WireWord, Hashable, Sendable, CaseIterable {
        /// The zone was deleted, as by `zones/modify`.
        case deleted
        /// The user removed the app's data; until the zone is created again, the private database answers
        /// `ZONE_NOT_FOUND` with `stratusErrorCode` 28.
        case purged
        /// The user reset encrypted data; until the zone is created again, the private database answers
        /// `ZONE_NOT_FOUND` with `stratusDidResetEncryptedData`.
        case encryptedDataReset
    }

    /// What happens to the requests or notifications that the fault matches.
    public var effect: Effect
    /// How many calls (or notifications) it affects; then it is used up.
    public var times: Int
    /// Only requests to this endpoint, such as `records/modify`; nil for any. Ignored for notifications.
    public var operation: String?
    /// Only this user's, by record name.
    public var userRecordName: String?
    /// Only requests that name this zone.
    public var zoneName: String?
    /// Only in this container, by identifier.
    public var container: String?

    /// Makes a fault; each condition that is nil matches everything.
    ///
    /// - Parameter times: 1 to 1,000,000 if the fault is to be read back from JSON.
    public init(
        _ effect: Effect, times: Int = 1, operation: String? = nil, userRecordName: String? = nil,
        zoneName: String? = nil, container: String? = nil
    ) {
        self.effect = effect
        self.times = times
        self.operation = operation
        self.userRecordName = userRecordName
        self.zoneName = zoneName
        self.container = container
    }
}

/// `/dev/faults`: the fault script of a service that runs with `--dev`. POST adds faults, GET lists them, DELETE
/// removes them; each answers the resulting script.
public enum DevFaults {
    /// The faults that are left, in the order in which they are tried; at most 1,000.
    public typealias Script = ListBody<Fault>
}

extension Fault {
    public init(wire node: JSONNode) throws(WireError) {
        let times: Int64 = try node.optional("times") ?? 1
        guard (1...1_000_000).contains(times) else {
            throw WireError("A fault happens 1 to 1,000,000 times.", at: "times")
        }
        self.init(
            try Self.effect(node), times: Int(times), operation: try node.optional("operation"),
            userRecordName: try node.optional("userRecordName"),
            zoneName: try node.optional("zoneName"), container: try node.optional("container"))
        if case .resetZone = effect, zoneName == nil {
            throw WireError("The zone to reset is not named; name it.", at: "zoneName")
        }
    }

    private static func effect(_ node: JSONNode) throws(WireError) -> Effect {
        let word: String = try node.required("effect")
        switch word {
        case "answer": return .answer(try ServiceError(wire: node))
        case "delay":
            let seconds: Double = try node.required("seconds")
            guard (0...3_600).contains(seconds) else {
                throw WireError("A delay has 0 to 3,600 seconds.", at: "seconds")
            }
            return .delay(seconds: seconds)
        case "dropBeforeCommit": return .dropBeforeCommit
        case "dropAfterCommit": return .dropAfterCommit
        case "expireChangeTokens": return .expireChangeTokens
        case "resetZone": return .resetZone(try node.optional("deletionReason") ?? .deleted)
        case "dropNotification": return .dropNotification
        case "duplicateNotification": return .duplicateNotification
        default:
            throw WireError("There is no such effect; see Documentation/Wire.md.", at: "effect")
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("effect", word)
            switch effect {
            case .answer(let error): error.writeMembers(to: &writer)
            case .delay(let seconds): writer.member("seconds", seconds)
            case .resetZone(let reason): writer.member("deletionReason", reason)
            case .dropBeforeCommit, .dropAfterCommit, .expireChangeTokens, .dropNotification,
                .duplicateNotification:
                break
            }
            writer.member("times", Int64(times))
            writer.optional("operation", operation)
            writer.optional("userRecordName", userRecordName)
            writer.optional("zoneName", zoneName)
            writer.optional("container", container)
        }
    }

    private var word: String {
        switch effect {
        case .answer: "answer"
        case .delay: "delay"
        case .dropBeforeCommit: "dropBeforeCommit"
        case .dropAfterCommit: "dropAfterCommit"
        case .expireChangeTokens: "expireChangeTokens"
        case .resetZone: "resetZone"
        case .dropNotification: "dropNotification"
        case .duplicateNotification: "duplicateNotification"
        }
    }
}

extension Fault: ListItem {
    public static var listKey: StaticString { "faults" }
}

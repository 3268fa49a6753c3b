import StratusRecords

/// A value that can be read from a parsed body.
///
/// Reading is tolerant: unknown keys are ignored and null is absent, unless a type says otherwise.
public protocol WireReadable {
    /// - Throws: ``WireError``, whose path begins at this value.
    init(wire node: JSONNode) throws(WireError)
}

/// A value that can write itself as JSON, as strictly as the strictest clients require.
public protocol WireWritable {
    /// Writes exactly one JSON value; the writer adds the commas.
    func write(to writer: inout JSONWriter)
}

/// A value that the protocol writes as JSON, and reads back.
///
/// The extensions of Stratus, which other clients ignore, are these keys; Documentation/Wire.md has all of them. Each is
/// written only when there is something to say; those of successful answers only when the caller asks
/// for them with `stratusExtensions=1` in the query (decision 1).
///
/// | key | where | meaning |
/// | --- | --- | --- |
/// | `stratusErrorCode` | every error | `ServiceError.frameworkCode`, `stratusCode` |
/// | `stratusDidResetEncryptedData` | zone error | `ServiceError.userDidResetEncryptedData` |
/// | `stratusLastIntactVersion` | error of a change token | `ServiceError.lastIntactVersion` |
/// | `stratusDeletionsAfterVersion` | error of a change token | `ServiceError.deletionsAfterVersion` |
/// | `serverRecord`, `ancestorRecord` | record error | ``RecordFailure`` |
/// | `zoneID` | record error | the zone of the record that failed |
/// | `recordType` | tombstone | ``RecordResult/Tombstone`` |
/// | `recordChangeTag` | tombstone of a records/modify answer | ``RecordResult/Tombstone`` |
/// | `deletionReason` | zone | ``ZoneDictionary/deletionReason`` |
/// | `oneTimeToken` | `lookupInfo` of a participant, item of records/resolve and accept | ``UserLookupInfo/oneTimeToken`` |
/// | `isApprovedRequester`, `dateAdded` | participant | ``ParticipantDictionary`` |
/// | `allowsAccessRequests`, `accessRequesters`, `blockedIdentities` | share | ``ShareDictionary`` |
/// | `encryptionScope` | zone, also of a zones/modify request | ``ZoneDictionary/encryptionScope`` |
/// | `share` | zone | ``ZoneDictionary/shareRecordName`` |
/// | `generation` | zone of a changes/database answer, and of a zones/modify request | ``ZoneDictionary/generation`` |
/// | `databaseSyncToken` | zone of a zones/modify answer | ``ZoneDictionary/databaseSyncToken`` |
/// | `recordType` | subscription | ``SubscriptionDictionary/recordType`` |
/// | `titleLocalizationKey` and the like, `shouldSendMutableContent`, `collapseIDKey` | `notificationInfo` | as in `CKSubscription.NotificationInfo` |
/// | `operationID` | records/modify and zones/modify request | ``RecordsModify/Request/operationID`` |
/// | `zoneID` | records/lookup item | ``RecordsLookup/Item/zoneID`` |
/// | `knownChangeTags` | zone of a changes/zone request | ``ChangesZone/Item/knownChangeTags`` |
/// | `deletionsAfterVersion` | zone of a changes/zone request | ``ChangesZone/Item/deletionsAfterVersion`` |
/// | `remainingChanges` | zone of a changes/zone answer | ``ChangesZone/Page/remainingChanges`` |
/// | `deletionsAfterVersion` | changes/database request | ``DatabaseChangesRequest/deletionsAfterVersion`` |
/// | `knownSyncTokens` | changes/database request | ``DatabaseChangesRequest/knownSyncTokens`` |
public typealias WireValue = WireReadable & WireWritable & Hashable & Sendable

/// One address of the protocol: its path, its typed request and its typed answer.
///
/// The same two types are used by the service, by HTTP and by the in-process transport, so that there is only one
/// definition of each.
///
/// ```swift
/// enum HutsCount: Endpoint {
///     struct Answer: WireObject, Hashable, Sendable {
///         var count: Int64 = 0
///
///         mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
///             try coder.required("count", &count)
///         }
///     }
///
///     typealias Request = EmptyBody
///     static let path = "huts/count"
/// }
/// ```
public protocol Endpoint: Sendable {
    /// The typed body of a request; ``EmptyBody`` where a body has no meaning.
    associatedtype Request: WireValue
    /// The typed body of a successful answer; ``EmptyBody`` where it has no keys.
    associatedtype Answer: WireValue

    /// Entity and action, such as `records/modify`.
    static var path: String { get }

    /// Whether the path has a database segment (`public`, `private`, `shared`).
    static var isInDatabase: Bool { get }

    /// Whether a request without content is sent with GET. POST is accepted too.
    static var isReadWithoutBody: Bool { get }

    /// The meaning of a request without a body, if it differs from `{}`.
    static var requestWithoutBody: Request? { get }

    /// Reads an answer in the form that the request asks for.
    ///
    /// - Throws: ``WireError``.
    static func answer(
        to request: Request, from bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> Answer
}

extension Endpoint {
    public static var requestWithoutBody: Request? { nil }
    public static var isInDatabase: Bool { true }
    public static var isReadWithoutBody: Bool { false }

    public static func answer(
        to request: Request, from bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> Answer { try readWire(from: bytes) }
}

/// A request or an answer without content: `{}`.
public struct EmptyBody: WireValue {
    /// Makes the body `{}`.
    public init() {}

    /// Accepts any body: several clients send keys where the protocol has none.
    public init(wire node: JSONNode) throws(WireError) {}

    public func write(to writer: inout JSONWriter) {
        writer.object { _ in }
    }
}

/// An error in a body that is JSON, or should be.
public struct WireError: Error, Hashable, Sendable {
    /// A constant sentence.
    public var reason: String
    /// The key at which reading stopped, such as `operations[3].record.fields`.
    public var path: String

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - reason: A constant sentence, without values from the body.
    ///   - path: The key that the error is about; empty for the value that is being read.
    public init(_ reason: String, at path: String = "") {
        self.reason = reason
        self.path = path
    }
}

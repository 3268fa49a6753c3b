import Foundation
import StratusRecords

/// The domain of ``CKError`` as an `NSError`.
public let CKErrorDomain = "CKErrorDomain"
/// The key of ``CKError/partialErrorsByItemID`` in the user info of `partialFailure`.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The key of ``CKError/ancestorRecord`` in the user info of `serverRecordChanged`.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The key of ``CKError/serverRecord`` in the user info of `serverRecordChanged`.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The key of ``CKError/clientRecord`` in the user info of `serverRecordChanged`.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The key of ``CKError/retryAfterSeconds`` in the user info: a number of seconds, at most a week.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The key of a `true` in the user info of `zoneNotFound`, if the user reset encrypted data.
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"
/// The key of ``CKError/lastIntactVersion`` in the user info of `changeTokenExpired`; not in
/// CloudKit.
public let CKErrorLastIntactVersionKey = "StratusLastIntactVersion"
/// The key of `CKError.deletionsAfterVersion` in the user info of `changeTokenExpired`.
let deletionsAfterVersionKey = "StratusDeletionsAfterVersion"

/// An error of the framework.
///
/// ```swift
/// do {
///     try await database.save(trail)
/// } catch let error as CKError where error.hasConflict {
///     for conflict in error.conflicts { try await database.save(conflict.merged()) }
/// } catch let error as CKError where error.mayPass {
///     print("try again in", error.longestRetryAfterSeconds ?? 1, "seconds")
/// }
/// ```
///
/// A plain struct with the members of Apple's: Foundation on Linux recurses endlessly when it
/// hashes a bridged error. An `NSError` of ``CKErrorDomain`` can be cast to it. `@unchecked
/// Sendable`: the values in ``userInfo`` are value types, errors and objects of this module, which
/// are Sendable themselves.
public struct CKError: CustomNSError, LocalizedError, Hashable, @unchecked Sendable {
    /// The kind of the error, by which alone errors are compared.
    public let code: Code
    /// The details of the error under the keys of Apple's framework, such as `NSLocalizedDescriptionKey` and
    /// `NSUnderlyingErrorKey`.
    public let userInfo: [String: Any]

    /// Makes an error with a code and its details.
    ///
    /// - Parameter userInfo: a description under `NSLocalizedDescriptionKey` becomes the error's message.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        self.userInfo = userInfo
    }

    public static var errorDomain: String { CKErrorDomain }
    public var errorCode: Int { code.rawValue }
    public var errorUserInfo: [String: Any] { userInfo }

    public var errorDescription: String? {
        userInfo[NSLocalizedDescriptionKey] as? String ?? "CKError \(code.rawValue), \(code)"
    }

    /// The errors of the items of a request; the keys are record, zone or subscription identifiers.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Seconds to wait before the request may be repeated.
    public var retryAfterSeconds: Double? {
        (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue
    }

    /// With `changeTokenExpired`: the last version of the history that this device and the service
    /// have in common. Not in CloudKit.
    ///
    /// A record's version is the part of its `recordChangeTag` before the dot, in base 36. A record
    /// that was received at or below the last intact version and is missing now was deleted; one
    /// above it may have been lost. Nil counts as 0: no common history is known.
    public var lastIntactVersion: Int64? {
        (userInfo[CKErrorLastIntactVersionKey] as? NSNumber)?.int64Value
    }

    /// Errors are equal if they have the same code.
    public static func == (left: CKError, right: CKError) -> Bool {
        left.code == right.code
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(CKErrorDomain)
        hasher.combine(code.rawValue)
    }
}

extension CKError: FrameworkError {
    package var deletionsAfterVersion: Int64? {
        (userInfo[deletionsAfterVersionKey] as? NSNumber)?.int64Value
    }

    package var summary: String { localizedDescription }
}

extension CKError: CustomStringConvertible {
    public var description: String {
        let reason = userInfo[NSLocalizedDescriptionKey].map { ": \($0)" } ?? ""
        let parts =
            [
                retryAfterSeconds.map { "retry after \($0) s" },
                (userInfo[Self.fieldNameKey] as? String).map { "field \($0)" },
                (userInfo["RequestUUID"] as? String).map { "request \($0)" },
                (userInfo[Self.addressKey] as? String).flatMap { address in
                    reason.contains(address) ? nil : "at \(address)"
                },
            ].compactMap(\.self) + itemDescriptions
        let details = parts.map { "; \($0)" }.joined()
        return "<CKError \(code) (\(code.rawValue))\(reason)\(details)>"
    }

    /// The first errors of the items, and the number of further ones.
    private var itemDescriptions: [String] {
        let shown = 5
        let all = (partialErrorsByItemID ?? [:]).map { "\($0.key.base) = \($0.value)" }.sorted()
        let more = all.count > shown ? ["and \(all.count - shown) more"] : []
        return Array(all.prefix(shown)) + more
    }
}

extension CKError {
    /// The field of a record that an error is about.
    static let fieldNameKey = "StratusFieldName"
    /// The type of the record that an error is about.
    static let recordTypeKey = "StratusRecordType"
    /// The address of the service that an error is about.
    static let addressKey = "StratusAddress"

    /// Makes an error with a sentence, details as named properties, and a cause.
    package init(
        _ code: Code, _ sentence: String, details: [String: Any] = [:],
        cause: (any Error)? = nil
    ) {
        var userInfo = details
        userInfo[NSLocalizedDescriptionKey] = sentence
        userInfo[NSUnderlyingErrorKey] = cause
        self.init(code, userInfo: userInfo)
    }
}

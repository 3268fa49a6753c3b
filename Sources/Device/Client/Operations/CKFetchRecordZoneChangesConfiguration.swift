import Foundation
import Synchronization

/// The settings of a fetch of one zone's changes:
/// `CKFetchRecordZoneChangesOperation.ZoneConfiguration` in code.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying,
    Sendable
{
    private struct State {
        var token: CKServerChangeToken?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
    }

    private let state: Mutex<State>

    private init(_ state: State) {
        self.state = Mutex(state)
    }

    /// Makes the settings of one zone; by default, all fields of all records, from the beginning.
    ///
    /// - Parameter resultsLimit: nil and 0 let the service decide.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init(
            State(
                token: previousServerChangeToken, resultsLimit: resultsLimit ?? 0,
                desiredKeys: desiredKeys))
    }

    private var values: State { state.withLock { $0 } }

    /// The token to start from; nil starts from the beginning.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { values.token }
        set { state.withLock { $0.token = newValue } }
    }

    /// The maximum number of records in one answer; 0 lets the service decide.
    public var resultsLimit: Int {
        get { values.resultsLimit }
        set { state.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch; nil fetches all, an empty list only the system's.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { values.desiredKeys }
        set { state.withLock { $0.desiredKeys = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(values)
    }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(previousServerChangeToken, "previousServerChangeToken")
        coder.encode(Int64(resultsLimit), forKey: "resultsLimit")
        coder.archive(desiredKeys, "desiredKeys")
    }

    public convenience init?(coder: NSCoder) {
        self.init(
            previousServerChangeToken: coder.archivedObject(
                CKServerChangeToken.self, "previousServerChangeToken"),
            resultsLimit: Int(coder.decodeInt64(forKey: "resultsLimit")),
            desiredKeys: coder.archivedStrings("desiredKeys"))
    }
}

/// The older name of the settings, which Apple's SDK deprecates.
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneConfiguration")
public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesConfiguration

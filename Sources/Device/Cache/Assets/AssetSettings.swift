import StratusClient

/// Which files of assets are downloaded automatically, and how much space all of them may take.
///
/// ```swift
/// var assets = AssetSettings()
/// assets.limitBytes = 200_000_000
/// assets.setPolicy(.always, forField: "thumbnail", ofType: "Photo")
/// assets.setPolicy(.under(bytes: 500_000), forField: "image", ofType: "Photo")
/// ```
public struct AssetSettings: Sendable {
    /// When the file of a field is downloaded.
    public enum Policy: Hashable, Sendable {
        /// When it is requested; see ``CloudCache/asset(_:of:in:)``.
        case onDemand
        /// With the sync that fetches its record, or soon after in a running loop; it is never
        /// evicted.
        case always
        /// Like ``always`` for a file of at most this many bytes, otherwise like ``onDemand``.
        case under(bytes: Int64)
    }

    private struct FieldName: Hashable {
        var recordType: String
        var field: String
    }

    /// How many bytes of files may be on this device; above it the least recently used are evicted.
    /// Files that are not at the service, that a policy keeps or that are in use stay even above
    /// the limit.
    ///
    /// 1 GiB by default.
    public var limitBytes: Int64 = 1 << 30
    /// The policy of fields that have none of their own.
    public var policy: Policy = .onDemand
    private var policies: [FieldName: Policy] = [:]

    /// Makes settings that download every file on demand and keep 1 GiB of files.
    public init() {}

    /// Sets the policy of a field of a record type.
    public mutating func setPolicy(
        _ policy: Policy, forField field: CKRecord.FieldKey, ofType recordType: CKRecord.RecordType
    ) {
        policies[FieldName(recordType: recordType, field: field)] = policy
    }

    /// The policy of a field.
    public func policy(
        ofField field: CKRecord.FieldKey, ofType recordType: CKRecord.RecordType
    ) -> Policy {
        policies[FieldName(recordType: recordType, field: field)] ?? policy
    }

    /// Whether any file is downloaded automatically.
    var fetchesAny: Bool {
        policy != .onDemand || policies.values.contains { $0 != .onDemand }
    }

    /// Whether the file of a field is downloaded automatically and kept.
    func keeps(field: String, ofType recordType: String, sizeBytes: Int64?) -> Bool {
        switch policy(ofField: field, ofType: recordType) {
        case .onDemand: false
        case .always: true
        case .under(let bytes): sizeBytes.map { $0 <= bytes } ?? false
        }
    }
}

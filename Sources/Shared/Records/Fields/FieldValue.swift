/// The type of a field as a schema declares it; the raw value is the wire's type tag.
public enum FieldType: String, Hashable, Sendable, CaseIterable {
    /// A text; `String` in the framework.
    case string = "STRING"
    /// A whole number of 64 bits, and the type of Boolean values, which are 1 and 0.
    case int64 = "INT64"
    /// A finite floating-point number of 64 bits.
    case double = "DOUBLE"
    /// A date; whole milliseconds since 1970 in the protocol, `Date` in the framework.
    case timestamp = "TIMESTAMP"
    /// Bytes; Base64 in the protocol, `Data` in the framework.
    case bytes = "BYTES"
    /// A place on the earth; `CLLocation` in the framework.
    case location = "LOCATION"
    /// A pointer to a record; `CKRecord.Reference` in the framework.
    case reference = "REFERENCE"
    /// A file whose bytes are stored apart from the record; `CKAsset` in the framework.
    case asset = "ASSETID"
    /// A list of texts, whose order is kept.
    case stringList = "STRING_LIST"
    /// A list of whole numbers, whose order is kept.
    case int64List = "INT64_LIST"
    /// A list of floating-point numbers, whose order is kept.
    case doubleList = "DOUBLE_LIST"
    /// A list of dates, whose order is kept.
    case timestampList = "TIMESTAMP_LIST"
    /// A list of byte sequences, whose order is kept.
    case bytesList = "BYTES_LIST"
    /// A list of places, whose order is kept.
    case locationList = "LOCATION_LIST"
    /// A list of references, whose order is kept.
    case referenceList = "REFERENCE_LIST"
    /// A list of assets, whose order is kept.
    case assetList = "ASSETID_LIST"

    /// Whether values of the type are lists.
    public var isList: Bool { element != nil }

    /// The type of a list's members; nil for a scalar.
    public var element: FieldType? {
        switch self {
        case .stringList: .string
        case .int64List: .int64
        case .doubleList: .double
        case .timestampList: .timestamp
        case .bytesList: .bytes
        case .locationList: .location
        case .referenceList: .reference
        case .assetList: .asset
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: nil
        }
    }
}

/// A value of a record's field.
public enum FieldValue: Hashable, Sendable {
    /// A text, as long as the record's limit in bytes allows.
    case string(String)
    /// A whole number; also a Boolean value, as 1 or 0.
    case int64(Int64)
    /// A floating-point number; the protocol has finite ones only.
    case double(Double)
    /// Whole milliseconds since 1970-01-01T00:00Z; may be negative. If they do not represent the date exactly, also its
    /// seconds since 2001-01-01T00:00Z, as in Foundation's `Date`.
    case timestamp(milliseconds: Int64, exactSeconds: Double? = nil)
    /// Bytes, decoded from the protocol's Base64.
    case bytes([UInt8])
    /// A place on the earth.
    case location(Location)
    /// A pointer to another record.
    case reference(Reference)
    /// What the protocol says about a file, without its bytes.
    case asset(AssetReceipt)
    /// A list of texts, in order.
    case stringList([String])
    /// A list of whole numbers, in order.
    case int64List([Int64])
    /// A list of floating-point numbers, in order.
    case doubleList([Double])
    /// The exact seconds are of all members, or nil.
    case timestampList(milliseconds: [Int64], exactSeconds: [Double]? = nil)
    /// A list of byte sequences, in order.
    case bytesList([[UInt8]])
    /// A list of places, in order.
    case locationList([Location])
    /// A list of pointers to records, in order.
    case referenceList([Reference])
    /// A list of what the protocol says about files, in order.
    case assetList([AssetReceipt])
    /// An empty list whose members' type is not known yet.
    case emptyList

    /// The type of the value; nil for ``emptyList``, which fits every list.
    public var type: FieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .stringList: .stringList
        case .int64List: .int64List
        case .doubleList: .doubleList
        case .timestampList: .timestampList
        case .bytesList: .bytesList
        case .locationList: .locationList
        case .referenceList: .referenceList
        case .assetList: .assetList
        case .emptyList: nil
        }
    }

    /// The value as devices compare and keep it: empty lists are equal regardless of their type, since the service
    /// knows the type of a field's list and the device that made it does not.
    package var withoutTypeIfEmpty: FieldValue {
        let isEmpty =
            switch self {
            case .stringList(let list): list.isEmpty
            case .int64List(let list): list.isEmpty
            case .doubleList(let list): list.isEmpty
            case .timestampList(let list, _): list.isEmpty
            case .bytesList(let list): list.isEmpty
            case .locationList(let list): list.isEmpty
            case .referenceList(let list): list.isEmpty
            case .assetList(let list): list.isEmpty
            default: false
            }
        return isEmpty ? .emptyList : self
    }

    /// Every reference in the value, in order.
    public var references: [Reference] {
        switch self {
        case .reference(let reference): [reference]
        case .referenceList(let references): references
        default: []
        }
    }
}

/// A location on the earth, with the values of `CLLocation`.
public struct Location: Hashable, Sendable {
    /// Degrees.
    public var latitude: Double
    /// Degrees.
    public var longitude: Double
    /// Metres.
    public var horizontalAccuracy: Double?
    /// Metres.
    public var verticalAccuracy: Double?
    /// Metres.
    public var altitude: Double?
    /// Metres per second.
    public var speed: Double?
    /// Degrees from north.
    public var course: Double?
    /// Whole milliseconds since 1970.
    public var timestampMilliseconds: Int64?
    /// The exact date, if whole milliseconds do not represent it; seconds since 2001.
    public var timestampExactSeconds: Double?

    /// Makes a location; only the coordinate is required, and no value is checked.
    public init(
        latitude: Double, longitude: Double, horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil, altitude: Double? = nil, speed: Double? = nil,
        course: Double? = nil, timestampMilliseconds: Int64? = nil,
        timestampExactSeconds: Double? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.timestampMilliseconds = timestampMilliseconds
        self.timestampExactSeconds = timestampExactSeconds
    }
}

/// A pointer from a record to another record.
public struct Reference: Hashable, Sendable {
    /// What happens to the holder when the target is deleted.
    public enum Action: String, Hashable, Sendable {
        /// Nothing: the holder keeps a reference to a record that no longer exists.
        case none = "NONE"
        /// The holder is deleted with its target.
        case deleteSelf = "DELETE_SELF"
        /// The target must exist, and cannot be deleted while the holder points to it.
        case validate = "VALIDATE"
    }

    /// The name of the target.
    public var recordName: String
    /// The target's zone; nil for the zone of the holder.
    public var zoneID: ZoneID?
    /// What happens to the holder when the target is deleted.
    public var action: Action

    /// Makes a reference.
    ///
    /// - Parameters:
    ///   - recordName: the target's name.
    ///   - zoneID: the target's zone; nil means the zone of the holder.
    ///   - action: what happens to the holder when the target is deleted.
    public init(recordName: String, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}

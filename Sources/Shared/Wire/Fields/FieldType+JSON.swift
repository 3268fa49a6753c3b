import StratusRecords

/// What a value's `type` says: one type, or only that it is a list.
enum TypeTag {
    case type(FieldType)
    /// `LIST` or `UNKNOWN_LIST`: the members tell.
    case list
    /// `ENCRYPTED_BYTES`.
    case encryptedBytes

    /// Reads a tag in the protocol's spelling or one of the aliases that clients send; nil for any
    /// other word.
    init?(_ text: JSONText) {
        switch text {
        case "STRING": self = .type(.string)
        case "INT64", "NUMBER_INT64", "INT": self = .type(.int64)
        case "DOUBLE", "NUMBER_DOUBLE": self = .type(.double)
        case "TIMESTAMP", "DATETIME": self = .type(.timestamp)
        case "BYTES", "BYTE": self = .type(.bytes)
        case "LOCATION": self = .type(.location)
        case "REFERENCE": self = .type(.reference)
        case "ASSETID", "ASSET": self = .type(.asset)
        case "STRING_LIST": self = .type(.stringList)
        case "INT64_LIST", "NUMBER_INT64_LIST", "INT_LIST": self = .type(.int64List)
        case "DOUBLE_LIST", "NUMBER_DOUBLE_LIST": self = .type(.doubleList)
        case "TIMESTAMP_LIST", "DATETIME_LIST": self = .type(.timestampList)
        case "BYTES_LIST", "BYTE_LIST": self = .type(.bytesList)
        case "LOCATION_LIST": self = .type(.locationList)
        case "REFERENCE_LIST": self = .type(.referenceList)
        case "ASSETID_LIST", "ASSET_LIST": self = .type(.assetList)
        case "LIST", "UNKNOWN_LIST": self = .list
        case "ENCRYPTED_BYTES": self = .encryptedBytes
        default: return nil
        }
    }
}

extension FieldType {
    /// The tag without an allocation.
    var tag: StaticString {
        switch self {
        case .string: "STRING"
        case .int64: "INT64"
        case .double: "DOUBLE"
        case .timestamp: "TIMESTAMP"
        case .bytes: "BYTES"
        case .location: "LOCATION"
        case .reference: "REFERENCE"
        case .asset: "ASSETID"
        case .stringList: "STRING_LIST"
        case .int64List: "INT64_LIST"
        case .doubleList: "DOUBLE_LIST"
        case .timestampList: "TIMESTAMP_LIST"
        case .bytesList: "BYTES_LIST"
        case .locationList: "LOCATION_LIST"
        case .referenceList: "REFERENCE_LIST"
        case .assetList: "ASSETID_LIST"
        }
    }

    /// The error of a value whose JSON does not fit the type, in the words of the live service.
    var mismatch: WireError {
        WireError("Invalid value, expected type \(rawValue).", at: "value")
    }
}

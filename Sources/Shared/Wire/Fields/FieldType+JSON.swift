import StratusRecords

/// The meaning of a value's `type`: one type, or only that it is a list.
enum TypeTag {
    case type(FieldType)
    /// `LIST` or `UNKNOWN_LIST`: the members determine the type.
    case list
    /// `ENCRYPTED_BYTES` and the like: the type says that the value is encrypted.
    case encrypted(FieldType)

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
        default:
            guard let type = Self.encryptedType(text) else { return nil }
            self = .encrypted(type)
        }
    }

    private static func encryptedType(_ text: JSONText) -> FieldType? {
        switch text {
        case "ENCRYPTED_STRING": .string
        case "ENCRYPTED_INT64", "ENCRYPTED_NUMBER_INT64": .int64
        case "ENCRYPTED_DOUBLE", "ENCRYPTED_NUMBER_DOUBLE": .double
        case "ENCRYPTED_TIMESTAMP": .timestamp
        case "ENCRYPTED_BYTES": .bytes
        case "ENCRYPTED_LOCATION": .location
        case "ENCRYPTED_STRING_LIST": .stringList
        case "ENCRYPTED_INT64_LIST", "ENCRYPTED_NUMBER_INT64_LIST": .int64List
        case "ENCRYPTED_DOUBLE_LIST", "ENCRYPTED_NUMBER_DOUBLE_LIST": .doubleList
        case "ENCRYPTED_TIMESTAMP_LIST": .timestampList
        case "ENCRYPTED_BYTES_LIST": .bytesList
        case "ENCRYPTED_LOCATION_LIST": .locationList
        default: nil
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

    /// The tag of a value whose type says that it is encrypted; nil for a type that cannot be.
    var encryptedTag: StaticString? {
        switch self {
        case .string: "ENCRYPTED_STRING"
        case .int64: "ENCRYPTED_INT64"
        case .double: "ENCRYPTED_DOUBLE"
        case .timestamp: "ENCRYPTED_TIMESTAMP"
        case .bytes: "ENCRYPTED_BYTES"
        case .location: "ENCRYPTED_LOCATION"
        case .stringList: "ENCRYPTED_STRING_LIST"
        case .int64List: "ENCRYPTED_INT64_LIST"
        case .doubleList: "ENCRYPTED_DOUBLE_LIST"
        case .timestampList: "ENCRYPTED_TIMESTAMP_LIST"
        case .bytesList: "ENCRYPTED_BYTES_LIST"
        case .locationList: "ENCRYPTED_LOCATION_LIST"
        case .reference, .asset, .referenceList, .assetList: nil
        }
    }

    /// The error of a value whose JSON does not fit the type, in the words of the live service.
    var mismatch: WireError {
        WireError("Invalid value, expected type \(rawValue).", at: "value")
    }
}

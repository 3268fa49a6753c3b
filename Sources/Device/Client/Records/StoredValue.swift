import Foundation
import StratusRecords

/// A field's value inside a record: as it was received, or as the app set it.
///
/// `@unchecked Sendable`: the objects are immutable; mutable ones were copied when they were set.
enum StoredValue: @unchecked Sendable {
    case wire(FieldValue)
    /// An NSString, NSNumber, NSDate, NSData, CKReference, CKAsset, CLLocation, or an NSArray of one
    /// of them.
    case object(any CKRecordValue)
    /// An encrypted value of the service that this device cannot read.
    case sealed([UInt8])
    /// A value that no field can hold: only in arguments of predicates.
    case unsupported

    /// Makes a value from an object of the app; nil stands for no value.
    ///
    /// Numbers become NSNumber as on Apple's platforms, so that a value set as an Int can be read
    /// as an Int64, a Double or an NSNumber.
    init?(_ value: Any?) {
        guard let value, !(value is NSNull) else { return nil }
        self = Self.object(for: value).map(Self.object) ?? .unsupported
    }

    private static func object(for value: Any) -> (any CKRecordValue)? {
        if type(of: value) is AnyClass { return copiedObject(value) }
        switch value {
        case let string as String: return string as NSString
        case let date as Date: return date as NSDate
        case let data as Data: return data as NSData
        case let number as any NumberBoxing: return number.boxed
        case let array as [Any]: return array.isEmpty ? NSArray() : Self.array(array)
        default: return nil
        }
    }

    private static func copiedObject(_ value: Any) -> (any CKRecordValue)? {
        switch value {
        case let array as NSArray: Self.array(array.map { $0 })
        case let string as NSString: string.copy() as? NSString
        case let data as NSData: data.copy() as? NSData
        case let number as NSNumber: number
        case let date as NSDate: date
        case let reference as CKReference: reference
        case let location as CLLocation: location
        case let asset as CKAsset: asset
        default: nil
        }
    }

    private static func array(_ members: [Any]) -> NSArray? {
        var objects: [Any] = []
        objects.reserveCapacity(members.count)
        for member in members {
            guard let object = object(for: member), !(object is NSArray) else { return nil }
            objects.append(object)
        }
        return NSArray(array: objects)
    }

    /// Whether a field can hold a value of this kind.
    var isSupported: Bool {
        if case .unsupported = self { false } else { true }
    }

    /// Whether this device can read the value.
    var isReadable: Bool {
        if case .sealed = self { false } else { true }
    }

    /// The value as the app reads it; nil if no field can hold it.
    var object: (any CKRecordValue)? {
        switch self {
        case .object(let object): object
        case .wire(let value): Self.object(of: value)
        case .sealed, .unsupported: nil
        }
    }

    /// The value in the protocol's form; nil if no field can hold it.
    var fieldValue: FieldValue? {
        switch self {
        case .wire(let value): value
        case .object(let object): FieldValue(object: object)
        case .sealed(let bytes): .bytes(bytes)
        case .unsupported: nil
        }
    }

    /// The value as this device stores it; nil if no field can hold it.
    func localValue(isEncrypted: Bool) -> FieldValue? {
        if case .sealed(let bytes) = self { return .bytes(bytes) }
        guard isEncrypted, case .bytes(let bytes) = fieldValue else { return fieldValue }
        return .bytes(SealedValue.local(bytes))
    }

    /// References and assets are never kept as `.wire`: they need their holder (see RecordReader).
    private static func object(of value: FieldValue) -> (any CKRecordValue)? {
        switch value {
        case .string(let string): return string as NSString
        case .int64(let number): return NSNumber(value: number)
        case .double(let number): return NSNumber(value: number)
        case .timestamp(let milliseconds, let exact):
            return exact.map { NSDate(timeIntervalSinceReferenceDate: $0) }
                ?? NSDate(milliseconds: milliseconds)
        case .bytes(let bytes): return Data(bytes) as NSData
        case .location(let location): return CLLocation(location)
        case .stringList(let strings): return NSArray(array: strings.map { $0 as NSString })
        case .int64List(let numbers): return NSArray(array: numbers.map { NSNumber(value: $0) })
        case .doubleList(let numbers): return NSArray(array: numbers.map { NSNumber(value: $0) })
        case .timestampList(_, let exact?):
            return NSArray(array: exact.map { NSDate(timeIntervalSinceReferenceDate: $0) })
        case .timestampList(let list, nil):
            return NSArray(array: list.map { NSDate(milliseconds: $0) })
        case .bytesList(let list): return NSArray(array: list.map { Data($0) as NSData })
        case .locationList(let list): return NSArray(array: list.map { CLLocation($0) })
        case .emptyList: return NSArray()
        case .reference, .referenceList, .asset, .assetList: return nil
        }
    }
}

/// Swift's number types, which a record stores as NSNumber.
private protocol NumberBoxing {
    var boxed: NSNumber { get }
}

extension Bool: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Int: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Int8: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Int16: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Int32: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Int64: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension UInt: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension UInt8: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension UInt16: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension UInt32: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension UInt64: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Float: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }
extension Double: NumberBoxing { fileprivate var boxed: NSNumber { NSNumber(value: self) } }

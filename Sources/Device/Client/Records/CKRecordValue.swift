import Foundation

/// A value that a record's field can hold.
///
/// Do not conform your own types: a record refuses them when it is saved.
public protocol CKRecordValueProtocol {}

/// The value of a record's key when no type is requested: NSString, NSNumber, NSDate, NSData,
/// NSArray, `CKRecord.Reference`, `CKAsset` or `CLLocation`.
///
/// Swift's value types conform too, because Linux has no bridging to classes: code for Apple's
/// platforms has `"Alps" as CKRecordValue`.
public protocol __CKRecordObjCValue: CKRecordValueProtocol {}

/// The name of ``__CKRecordObjCValue`` in Apple's API and in apps.
public typealias CKRecordValue = __CKRecordObjCValue

extension String: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension NSString: CKRecordValueProtocol {}
extension NSDate: CKRecordValueProtocol {}
extension NSData: CKRecordValueProtocol {}
extension NSNumber: CKRecordValueProtocol {}
extension NSArray: CKRecordValueProtocol {}
extension CKReference: CKRecordValueProtocol {}
extension CLLocation: CKRecordValueProtocol {}

extension String: __CKRecordObjCValue {}
extension Date: __CKRecordObjCValue {}
extension Data: __CKRecordObjCValue {}
extension Bool: __CKRecordObjCValue {}
extension Int: __CKRecordObjCValue {}
extension Int8: __CKRecordObjCValue {}
extension Int16: __CKRecordObjCValue {}
extension Int32: __CKRecordObjCValue {}
extension Int64: __CKRecordObjCValue {}
extension UInt: __CKRecordObjCValue {}
extension UInt8: __CKRecordObjCValue {}
extension UInt16: __CKRecordObjCValue {}
extension UInt32: __CKRecordObjCValue {}
extension UInt64: __CKRecordObjCValue {}
extension Float: __CKRecordObjCValue {}
extension Double: __CKRecordObjCValue {}
extension Array: __CKRecordObjCValue where Element: CKRecordValueProtocol {}
extension NSString: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}
extension CKReference: __CKRecordObjCValue {}
extension CKAsset: __CKRecordObjCValue {}
extension CLLocation: __CKRecordObjCValue {}

/// An object with named values, such as a record.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    /// The value of a field; nil if it has none.
    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValue)?
    /// Sets the value of a field; nil removes it.
    func setObject(_ object: (any CKRecordValue)?, forKey key: CKRecord.FieldKey)
    /// The names of the fields that have a value.
    func allKeys() -> [CKRecord.FieldKey]
    /// The names of the fields that were set or removed since the object was fetched or saved.
    func changedKeys() -> [CKRecord.FieldKey]
    /// The value of a field, as ``object(forKey:)`` gives it; setting nil removes it.
    subscript(key: CKRecord.FieldKey) -> (any CKRecordValue)? { get set }
}

/// The object form of a value. All types that a field can hold have one.
private func objectForm(
    _ value: (any CKRecordValueProtocol)?, of key: CKRecord.FieldKey
) -> (any CKRecordValue)? {
    guard let value else { return nil }
    guard let object = value as? any CKRecordValue else {
        preconditionFailure(CKRecord.unsupportedValue(of: key))
    }
    return object
}

extension CKRecordKeyValueSetting {
    /// The value of a field as the requested type; nil when it has another type.
    public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
        get { object(forKey: key) as? Value }
        set { setObject(objectForm(newValue, of: key), forKey: key) }
    }

    /// The value of a field, of any type that a field can hold; setting nil removes it.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(objectForm(newValue, of: key), forKey: key) }
    }
}

/// An iterator over a record's fields, in the order of their names.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    var remaining: [(CKRecord.FieldKey, any CKRecordValueProtocol)]

    init(_ record: CKRecord) {
        remaining = record.allKeys().reversed().compactMap { key in
            record.object(forKey: key).map { (key, $0) }
        }
    }

    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        remaining.popLast()
    }
}

import Foundation

/// A value that a record's field can hold.
///
/// Do not conform types of your own: a record refuses them when it is saved.
public protocol CKRecordValueProtocol {}

/// The object form of a value. Foundation on Linux has no class-bound bridge, so both names are
/// one.
public typealias CKRecordValue = CKRecordValueProtocol

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

/// Something with named values, such as a record.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValue)?
    func setObject(_ object: (any CKRecordValue)?, forKey key: CKRecord.FieldKey)
    func allKeys() -> [CKRecord.FieldKey]
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value of a field as the type that is asked for; nil when it is of another.
    public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
        get { object(forKey: key) as? Value }
        set { setObject(newValue, forKey: key) }
    }

    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }
}

/// The fields of a record, one after the other, in the order of their names.
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

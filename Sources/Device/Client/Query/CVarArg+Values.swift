import Foundation

// On Apple's platforms every object can be a format argument, and code written there has `date as
// CVarArg`. These conformances let it compile. Predicates use the values themselves; only
// `String(format:)` reads the encoding, which is the object, as "%@" expects.

private func encoding(of object: AnyObject) -> [Int] {
    [Int(bitPattern: Unmanaged.passUnretained(object).toOpaque())]
}

/// The encoding of an object. The object is never released, because it is not known when the format is read.
private func encoding(keeping object: AnyObject) -> [Int] {
    [Int(bitPattern: Unmanaged.passRetained(object).toOpaque())]
}

extension Date: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(keeping: self as NSDate) }
}
extension Data: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(keeping: self as NSData) }
}
extension Array: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(keeping: NSArray(array: map { $0 as Any })) }
}
extension NSDate: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension NSData: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension NSNumber: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension NSArray: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension CLLocation: CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension CKReference: CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension CKRecordID: CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}
extension CKRecord: CVarArg {
    public var _cVarArgEncoding: [Int] { encoding(of: self) }
}

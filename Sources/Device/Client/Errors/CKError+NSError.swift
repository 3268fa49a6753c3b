import Foundation
import StratusRecords

extension CKError {
    /// Makes an error of an `NSError` of the framework, as archives and logs have them.
    ///
    /// - Parameter _nsError: its code and user info are used; an error of another domain, or with a
    ///   code that Apple does not define, becomes `internalError` with that error as its cause.
    public init(_nsError error: NSError) {
        if let known = CKError(bridging: error) {
            self = known
        } else {
            self.init(.internalError, userInfo: [NSUnderlyingErrorKey: error])
        }
    }

    /// The error as Objective-C code would see it.
    public var _nsError: NSError {
        NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// - Returns: nil for an error that is not the framework's.
    fileprivate init?(bridging error: NSError) {
        guard error.domain == CKErrorDomain, let code = Code(rawValue: error.code) else {
            return nil
        }
        self.init(code, userInfo: error.userInfo)
    }
}

#if !canImport(ObjectiveC)
    // Makes `nsError as? CKError` and `catch let error as CKError` work with an NSError of the
    // framework, as the system does on Apple's platforms for its own CKError.
    extension CKError: _ObjectiveCBridgeable {
        public func _bridgeToObjectiveC() -> NSError { _nsError }

        public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
            result = CKError(_nsError: source)
        }

        public static func _conditionallyBridgeFromObjectiveC(
            _ source: NSError, result: inout CKError?
        ) -> Bool {
            result = CKError(bridging: source)
            return result != nil
        }

        public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
            source.map { CKError(_nsError: $0) } ?? CKError(.internalError)
        }
    }
#endif

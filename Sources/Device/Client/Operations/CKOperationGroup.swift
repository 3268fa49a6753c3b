import Foundation
import Synchronization

/// A label for several operations, with settings for those that have none of their own.
public final class CKOperationGroup: NSObject, NSSecureCoding, Sendable {
    /// How much data the group is expected to transfer.
    public enum TransferSize: Int, Sendable {
        case unknown = 0
        case kilobytes
        case megabytes
        case tensOfMegabytes
        case hundredsOfMegabytes
        case gigabytes
        case tensOfGigabytes
        case hundredsOfGigabytes
    }

    private struct State {
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
        var configuration = CKOperationConfiguration.Values()
    }

    public let operationGroupID: String
    private let state: Mutex<State>

    public override convenience init() {
        self.init(operationGroupID: UUID().uuidString)
    }

    init(operationGroupID: String) {
        self.operationGroupID = operationGroupID
        state = Mutex(State())
    }

    /// Settings of the group's operations; a copy. Nil restores the defaults.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { CKOperationConfiguration(defaultValues) }
        set { state.withLock { $0.configuration = newValue?.values ?? .init() } }
    }

    var defaultValues: CKOperationConfiguration.Values { state.withLock { $0.configuration } }

    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    public var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    public var expectedSendSize: TransferSize {
        get { state.withLock { $0.expectedSendSize } }
        set { state.withLock { $0.expectedSendSize = newValue } }
    }

    public var expectedReceiveSize: TransferSize {
        get { state.withLock { $0.expectedReceiveSize } }
        set { state.withLock { $0.expectedReceiveSize = newValue } }
    }

    public static var supportsSecureCoding: Bool { true }

    /// Writes the group without its configuration's container, which belongs to this process.
    public func encode(with coder: NSCoder) {
        coder.archive(operationGroupID, "operationGroupID")
        coder.archive(name, "name")
        coder.encode(Int64(quantity), forKey: "quantity")
        coder.encode(Int64(expectedSendSize.rawValue), forKey: "expectedSendSize")
        coder.encode(Int64(expectedReceiveSize.rawValue), forKey: "expectedReceiveSize")
        defaultValues.archive(with: coder)
    }

    public convenience init?(coder: NSCoder) {
        guard let identifier = coder.archivedString("operationGroupID") else { return nil }
        self.init(operationGroupID: identifier)
        name = coder.archivedString("name")
        quantity = Int(coder.decodeInt64(forKey: "quantity"))
        let sent = Int(coder.decodeInt64(forKey: "expectedSendSize"))
        expectedSendSize = TransferSize(rawValue: sent) ?? .unknown
        let received = Int(coder.decodeInt64(forKey: "expectedReceiveSize"))
        expectedReceiveSize = TransferSize(rawValue: received) ?? .unknown
        let values = CKOperationConfiguration.Values(coder: coder)
        state.withLock { $0.configuration = values }
    }
}

extension CKOperationConfiguration.Values {
    /// Names for `QualityOfService`, whose raw values differ between platforms.
    private static let words: [(String, QualityOfService)] = [
        ("userInteractive", .userInteractive), ("userInitiated", .userInitiated),
        ("utility", .utility), ("background", .background), ("default", .default),
    ]

    /// Writes the properties that were set.
    func archive(with coder: NSCoder) {
        coder.archive(
            Self.words.first { $0.1 == qualityOfService }.map(\.0), "qualityOfService")
        if let allowsCellularAccess {
            coder.encode(allowsCellularAccess, forKey: "allowsCellularAccess")
        }
        if let isLongLived { coder.encode(isLongLived, forKey: "isLongLived") }
        if let timeoutIntervalForRequest {
            coder.encode(timeoutIntervalForRequest, forKey: "timeoutIntervalForRequest")
        }
        if let timeoutIntervalForResource {
            coder.encode(timeoutIntervalForResource, forKey: "timeoutIntervalForResource")
        }
    }

    init(coder: NSCoder) {
        let word = coder.archivedString("qualityOfService")
        qualityOfService = Self.words.first { $0.0 == word }?.1
        if coder.containsValue(forKey: "allowsCellularAccess") {
            allowsCellularAccess = coder.decodeBool(forKey: "allowsCellularAccess")
        }
        if coder.containsValue(forKey: "isLongLived") {
            isLongLived = coder.decodeBool(forKey: "isLongLived")
        }
        if coder.containsValue(forKey: "timeoutIntervalForRequest") {
            timeoutIntervalForRequest = coder.decodeDouble(forKey: "timeoutIntervalForRequest")
        }
        if coder.containsValue(forKey: "timeoutIntervalForResource") {
            timeoutIntervalForResource = coder.decodeDouble(forKey: "timeoutIntervalForResource")
        }
    }
}

@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

import Foundation
import Synchronization

/// A label for several operations, with settings for those that have none of their own.
public final class CKOperationGroup: NSObject, NSSecureCoding, Sendable {
    /// How much data the group is expected to transfer.
    public enum TransferSize: Int, Sendable {
        /// The app has no estimate.
        case unknown = 0
        /// Less than 1 megabyte.
        case kilobytes
        /// 1 to 10 megabytes.
        case megabytes
        /// 10 to 100 megabytes.
        case tensOfMegabytes
        /// 100 megabytes to 1 gigabyte.
        case hundredsOfMegabytes
        /// 1 to 10 gigabytes.
        case gigabytes
        /// 10 to 100 gigabytes.
        case tensOfGigabytes
        /// 100 gigabytes or more.
        case hundredsOfGigabytes
    }

    private struct State {
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
        var configuration = CKOperationConfiguration.Values()
    }

    /// The ID of the group: a new UUID as text, or the former one if the group was unarchived.
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

    /// What the group is for, in the app's words; nil by default. Not sent to the service.
    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The number of items that the group is about, as the app counts them; 0 by default. Not sent
    /// to the service.
    public var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    /// How much data the app expects to send; `.unknown` by default. An estimate without effect.
    public var expectedSendSize: TransferSize {
        get { state.withLock { $0.expectedSendSize } }
        set { state.withLock { $0.expectedSendSize = newValue } }
    }

    /// How much data the app expects to receive; `.unknown` by default. An estimate without effect.
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

/// The older name of ``CKOperationGroup/TransferSize``.
@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

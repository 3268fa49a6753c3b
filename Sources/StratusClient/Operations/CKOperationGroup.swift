import Foundation
import Synchronization

/// A label that several operations share, with settings for those that have none of their own.
public final class CKOperationGroup: NSObject, NSSecureCoding, Sendable {
    /// How much the group is expected to move.
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

    /// Writes the identifier, the name and the sizes; not the configuration.
    public func encode(with coder: NSCoder) {
        coder.archive(operationGroupID, "operationGroupID")
        coder.archive(name, "name")
        coder.encode(Int64(quantity), forKey: "quantity")
        coder.encode(Int64(expectedSendSize.rawValue), forKey: "expectedSendSize")
        coder.encode(Int64(expectedReceiveSize.rawValue), forKey: "expectedReceiveSize")
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
    }
}

@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

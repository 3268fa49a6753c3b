import StratusRecords
import StratusStorage
import StratusWire

/// The rules of the service, free of HTTP: a caller and a typed request go in, a typed answer comes
/// out.
///
/// The same object runs behind the HTTP routes of StratusServer and in process under StratusTesting.
public final class CloudService: Sendable {
    public let storehouse: any Storehouse
    public let settings: ServiceSettings

    public init(storehouse: any Storehouse, settings: ServiceSettings) {
        self.storehouse = storehouse
        self.settings = settings
    }
}

/// What a service is told at its start. Everything nondeterministic is here.
public struct ServiceSettings: Sendable {
    public var limits = Limits()
    /// Containers, users and record types come into being on first use. Never for real data.
    public var isForDevelopment: Bool

    public init(isForDevelopment: Bool) {
        self.isForDevelopment = isForDevelopment
    }
}

/// An endpoint that the service answers. The conformances are in the files of the same names.
public protocol ServedEndpoint: Endpoint {
    static func answer(_ request: Request, in context: RequestContext) async throws -> Answer
}

/// Who asks the service for what: the second argument of every rule.
public struct RequestContext: Sendable {
    public let service: CloudService
    public let caller: Caller
    public let address: ContainerAddress
    /// Nil at addresses without a database.
    public let scope: DatabaseScope?

    public init(
        service: CloudService, caller: Caller, address: ContainerAddress, scope: DatabaseScope?
    ) {
        self.service = service
        self.caller = caller
        self.address = address
        self.scope = scope
    }
}

/// Who asks.
public struct Caller: Hashable, Sendable {
    /// Nil for one who shows an API token only.
    public var userRecordName: String?
    /// The identifier that the device sent, or the session's.
    public var device: String

    public init(userRecordName: String?, device: String) {
        self.userRecordName = userRecordName
        self.device = device
    }
}

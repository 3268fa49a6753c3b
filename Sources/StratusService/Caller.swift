/// Who asks.
public struct Caller: Hashable, Sendable {
    /// Nil for one who shows an API token only.
    public var userRecordName: String?

    /// The identifier that the device sent, or the session's.
    public var device: String

    /// Whether answers may have keys that are ours alone (decision 1).
    public var wantsExtensions: Bool

    /// Whether answers about records say where their zone stands.
    public var wantsSyncToken: Bool

    public init(
        userRecordName: String?, device: String, wantsExtensions: Bool = false,
        wantsSyncToken: Bool = false
    ) {
        self.userRecordName = userRecordName
        self.device = device
        self.wantsExtensions = wantsExtensions
        self.wantsSyncToken = wantsSyncToken
    }
}

/// What a caller shows: the protocol's query parameters.
public struct Credentials: Hashable, Sendable {
    /// `ckAPIToken`.
    public var apiToken: String?
    /// `ckWebAuthToken`, or `ckSession` as old clients call it.
    public var webAuthToken: String?
    /// `clientId`: the device.
    public var clientID: String?
    /// `stratusExtensions`: our own client asks for keys that are ours alone.
    public var wantsExtensions: Bool
    /// `getCurrentSyncToken`.
    public var wantsSyncToken: Bool

    public init(
        apiToken: String?, webAuthToken: String? = nil, clientID: String? = nil,
        wantsExtensions: Bool = false, wantsSyncToken: Bool = false
    ) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.clientID = clientID
        self.wantsExtensions = wantsExtensions
        self.wantsSyncToken = wantsSyncToken
    }
}

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

/// What a caller shows: the protocol's query parameters.
public struct Credentials: Hashable, Sendable {
    /// `ckAPIToken`.
    public var apiToken: String?
    /// `ckWebAuthToken`, or `ckSession` as old clients call it.
    public var webAuthToken: String?
    /// `clientId`: the device.
    public var clientID: String?

    public init(apiToken: String?, webAuthToken: String? = nil, clientID: String? = nil) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.clientID = clientID
    }
}

import StratusRecords
import StratusWire

/// The sender of a request.
struct Caller: Hashable, Sendable {
    /// Nil for a caller with an API token only.
    var userRecordName: String?

    /// The identifier that the device sent, or the session's.
    var device: String

    /// Whether answers may have keys that are our extensions (decision 1).
    var wantsExtensions = false

    /// Whether answers about records include their zone's change token.
    var wantsSyncToken = false

    /// The session of a web-auth token.
    var session: String?

    /// Identifies a request that a server-to-server key signed, also when it is repeated; nil for others.
    var signedRequest: [UInt8]?

    /// Whether a server-to-server key signed the request: it can use only the public database.
    var isServer: Bool { signedRequest != nil }
}

/// The caller to whom a record is shown: participants see more of a share.
struct RecordViewer: Hashable, Sendable {
    /// Nil for a caller with an API token only.
    var userRecordName: String?
    /// Whether answers may have our extensions.
    var wantsExtensions: Bool
}

extension RecordViewer {
    /// A record's fields: as they are stored for our own client, else as the protocol defines them.
    func fields(of payload: [UInt8]) -> RecordFields {
        let stored = RecordFields.encoded(payload)
        if wantsExtensions { return stored }
        // Bytes that cannot be read are answered as stored; the code that parses them reports the error.
        return (try? stored.inMilliseconds()) ?? stored
    }

    /// How a record names who created or changed it: our own client shows the caller as `CKCurrentUserDefaultName`, as
    /// Apple's does.
    func name(of userRecordName: String) -> String {
        wantsExtensions && userRecordName == self.userRecordName
            ? ZoneID.currentUserName : userRecordName
    }
}

extension Caller {
    var viewer: RecordViewer {
        RecordViewer(userRecordName: userRecordName, wantsExtensions: wantsExtensions)
    }
}

/// The credentials of a request: the protocol's query parameters, or its signature.
///
/// ```swift
/// let credentials = Credentials(
///     apiToken: ServiceSettings.developmentToken, webAuthToken: signIn.webAuthToken,
///     clientID: "phone")
/// ```
public struct Credentials: Hashable, Sendable {
    /// `ckAPIToken`.
    public var apiToken: String?
    /// `ckWebAuthToken`, or `ckSession` as old clients call it.
    public var webAuthToken: String?
    /// `clientId`: the device.
    public var clientID: String?
    /// Where the request came from: a network address, or the part of it that identifies the network. Nil within a
    /// process.
    public var networkAddress: String?
    /// `stratusExtensions`: our own client asks for keys that are our extensions.
    public var wantsExtensions: Bool
    /// `getCurrentSyncToken`.
    public var wantsSyncToken: Bool
    /// The `Origin` header: the origin of the page in a browser that sent the request.
    public var origin: String?
    /// Scheme and authority under which the caller reached the service: they precede the paths in addresses of answers
    /// (assets, the page of a share, the long poll). Empty in process.
    public var serviceOrigin: String
    /// The signature that a server sends in place of tokens. Unlike everything else here, checking it needs the
    /// body.
    public var signature: RequestSignature?

    /// Makes credentials; what is left out was not sent. The service decides whether they are valid.
    public init(
        apiToken: String?, webAuthToken: String? = nil, clientID: String? = nil,
        wantsExtensions: Bool = false, wantsSyncToken: Bool = false, origin: String? = nil,
        serviceOrigin: String = "", networkAddress: String? = nil,
        signature: RequestSignature? = nil
    ) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.clientID = clientID
        self.networkAddress = networkAddress
        self.wantsExtensions = wantsExtensions
        self.wantsSyncToken = wantsSyncToken
        self.origin = origin
        self.serviceOrigin = serviceOrigin
        self.signature = signature
    }
}

import HTTPTypes
import Hummingbird
import NIOCore
import StratusRecords
import StratusService
import StratusWire

extension HTTPField.Name {
    // The names are valid constants: an invalid literal fails the first test run.
    static let requestUUID = Self("X-Apple-Request-UUID") ?? .eTag
    static let serviceTime = Self("X-Stratus-Time") ?? .eTag
    static let webAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token") ?? .eTag
}

extension Response {
    /// An answer in JSON.
    init(status: HTTPResponse.Status = .ok, wireBytes: [UInt8]) {
        self.init(status: status, json: ByteBuffer(bytes: wireBytes))
    }

    /// An answer in JSON.
    ///
    /// - Parameter isCompressed: Whether the bytes are in gzip; nil for an answer that is never compressed.
    init(
        status: HTTPResponse.Status = .ok, json: ByteBuffer, webAuthToken: String? = nil,
        isCompressed: Bool? = nil
    ) {
        var headers = HTTPFields()
        if let isCompressed {
            headers[.vary] = "Accept-Encoding"
            if isCompressed { headers[.contentEncoding] = "gzip" }
        }
        headers[.contentType] = "application/json; charset=UTF-8"
        headers[.cacheControl] = "no-store"
        headers[.webAuthToken] = webAuthToken
        self.init(status: status, headers: headers, body: .init(byteBuffer: json))
    }

    /// A failure of the whole request, with the identifier under which it was logged.
    ///
    /// - Parameter knowsOurs: Whether the client knows our own error codes.
    init(_ failure: RequestFailure, uuid: String, knowsOurs: Bool) {
        let body = ErrorBody(uuid: uuid, error: failure.error, records: failure.records)
        self.init(
            status: .init(code: failure.httpStatus),
            wireBytes: wireBytes(of: body, documentedCodesOnly: !knowsOurs))
        headers[.requestUUID] = uuid
        if let seconds = failure.error.retryAfterSeconds {
            headers[.retryAfter] = String(Int(seconds.rounded(.up)))
        }
    }
}

extension Request {
    /// The first segment of the path. Like the router, it ignores empty segments: `//dev/faults` is `/dev/faults`.
    var firstSegment: Substring {
        uri.path.drop { $0 == "/" }.prefix { $0 != "/" }
    }

    /// Whether the client asks for our extensions (decision 1), and so knows them.
    ///
    /// Searched for in the bytes: it is needed more than once per request, and decoding all parameters for it, or
    /// splitting the text, would take a tenth of the time of a small request.
    var knowsOurs: Bool {
        guard var query = uri.query else { return false }
        let wanted: StaticString = "stratusExtensions=1"
        return query.withUTF8 { bytes in
            wanted.withUTF8Buffer { wanted in
                bytes.split(separator: UInt8(ascii: "&")).contains { $0.elementsEqual(wanted) }
            }
        }
    }
}

extension RequestFailure {
    /// The HTTP status of the code, or HTTP's own if it has a more exact one.
    var httpStatus: Int {
        switch unreadBody {
        case .tooLarge: 413
        case .tooSlow: 408
        case .refused, nil: error.code.httpStatus
        }
    }

    /// Whether an unread rest of the request may be in the connection.
    var endsConnection: Bool { unreadBody != nil }
}

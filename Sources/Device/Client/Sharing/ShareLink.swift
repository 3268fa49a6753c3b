import Foundation

/// The link of a share: `{origin}/share/{short GUID}#{title}~{key}`; with a one-time token in its
/// query, the link of one participant.
struct ShareLink {
    var origin: String
    var shortGUID: String
    var title: String?
    var oneTimeToken: String?
    /// The key of the zone's encrypted values.
    var key: ZoneKey?

    private static let tokenKey = "invitation"

    var url: URL? {
        guard var components = URLComponents(string: origin + "/share/" + shortGUID) else {
            return nil
        }
        if let oneTimeToken {
            components.queryItems = [URLQueryItem(name: Self.tokenKey, value: oneTimeToken)]
        }
        if let title, !title.isEmpty {
            components.fragment = title.replacingOccurrences(of: " ", with: "_")
        }
        guard let url = components.url, let key else { return components.url }
        return ShareLinkKey.link(url, with: key)
    }

    /// The short GUID of a link with any scheme and host: a service may have several host names,
    /// and it does not find a GUID of another service.
    ///
    /// - Returns: nil when the URL is not a share's.
    static func shortGUID(of url: URL) -> String? {
        let parts = url.path.split(separator: "/")
        guard parts.count >= 2, parts[parts.count - 2] == "share" else { return nil }
        return parts.last.map(String.init)
    }

    /// The one-time token of a link.
    static func oneTimeToken(of url: URL) -> String? {
        URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?
            .first { $0.name == tokenKey }?.value
    }
}

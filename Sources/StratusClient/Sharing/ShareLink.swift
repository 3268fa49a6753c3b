import Foundation

/// The link of a share: `{origin}/share/{short GUID}#{title}`.
struct ShareLink {
    var origin: String
    var shortGUID: String
    var title: String?

    var url: URL? {
        guard var components = URLComponents(string: origin + "/share/" + shortGUID) else {
            return nil
        }
        if let title, !title.isEmpty {
            components.fragment = title.replacingOccurrences(of: " ", with: "_")
        }
        return components.url
    }

    /// The short GUID of a link, whatever its scheme and host: a service may have several names, and
    /// what it does not know it does not find.
    ///
    /// - Returns: nil when the address is not a share's.
    static func shortGUID(of url: URL) -> String? {
        let parts = url.path.split(separator: "/")
        guard parts.count >= 2, parts[parts.count - 2] == "share" else { return nil }
        return parts.last.map(String.init)
    }
}

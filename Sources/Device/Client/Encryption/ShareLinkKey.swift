import Foundation
import StratusRecords

/// The key of a shared zone in the fragment of the share's link, which programs do not send to a
/// service.
///
/// `…#Title~` and 43 letters of base64url. A link without a key works too; encrypted values are
/// then not readable until the whole link is opened.
enum ShareLinkKey {
    private static let letterCount = 43

    static func link(_ url: URL, with key: ZoneKey) -> URL {
        let (text, title, _) = parts(url)
        let letters = Base64.addressText(key.bytes)
        // All letters of the key are allowed in a fragment, so this fails only if the original link
        // is unusual: it is then returned unchanged.
        return URL(string: "\(text)#\(title)~\(letters)") ?? url
    }

    /// The key in a link; nil when it has none.
    static func key(in url: URL) -> ZoneKey? {
        parts(url).key
    }

    private static func parts(_ url: URL) -> (text: String, title: String, key: ZoneKey?) {
        let text = url.absoluteString
        guard let mark = text.firstIndex(of: "#") else { return (text, "", nil) }
        let fragment = text[text.index(after: mark)...]
        let start = String(text[..<mark])
        guard let tilde = fragment.lastIndex(of: "~") else { return (start, String(fragment), nil) }
        let letters = fragment[fragment.index(after: tilde)...]
        guard letters.count == letterCount, let bytes = Base64.bytes(addressText: String(letters)),
            bytes.count == ZoneKey.byteCount
        else { return (start, String(fragment), nil) }
        return (start, String(fragment[..<tilde]), ZoneKey(bytes: bytes))
    }
}

extension NSCoder {
    func archive(_ key: ZoneKey?, _ name: String) {
        if let key { encode(Data(key.bytes) as NSData, forKey: name) }
    }

    func archivedZoneKey(_ name: String) -> ZoneKey? {
        archivedData(name).flatMap { data in
            data.count == ZoneKey.byteCount ? ZoneKey(bytes: [UInt8](data)) : nil
        }
    }
}

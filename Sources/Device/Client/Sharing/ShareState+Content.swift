import Foundation
import StratusWire

/// A share's participants and link as bytes, for stores that do not archive objects.
extension ShareState {
    private struct Content: Codable {
        var dictionary: Data
        var linkOrigin: String?
        var linkKey: Data?
    }

    /// The share in the service's state; the same share gives the same bytes.
    var content: [UInt8] {
        let known = base
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let content = Content(
            dictionary: Data(wireBytes(of: known.dictionary(known.terms))), linkOrigin: linkOrigin,
            linkKey: linkKey.map { Data($0.bytes) })
        // Encoding these types cannot fail; if it did, the share would be read without
        // participants.
        return (try? encoder.encode(content)).map { [UInt8]($0) } ?? []
    }

    /// - Returns: nil when the bytes are damaged.
    init?(content: [UInt8]) {
        // Damaged bytes give nil, as with every archive; the caller decides what a missing share
        // means.
        guard let content = try? JSONDecoder().decode(Content.self, from: Data(content)),
            let known = try? readWire(RecordDictionary.self, from: [UInt8](content.dictionary)),
            let share = known.share
        else { return nil }
        self.init(share, shortGUID: known.shortGUID, linkOrigin: content.linkOrigin)
        linkKey = content.linkKey.flatMap { key in
            key.count == ZoneKey.byteCount ? ZoneKey(bytes: [UInt8](key)) : nil
        }
    }
}

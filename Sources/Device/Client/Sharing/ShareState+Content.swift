import Foundation
import StratusWire

/// A share's people and link as bytes, for stores that keep records without archiving objects.
extension ShareState {
    private struct Content: Codable {
        var dictionary: Data
        var linkOrigin: String?
        var linkKey: Data?
    }

    /// The share as the service knows it; the same bytes for the same share.
    var content: [UInt8] {
        let known = base
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let content = Content(
            dictionary: Data(wireBytes(of: known.dictionary(known.terms))), linkOrigin: linkOrigin,
            linkKey: linkKey.map { Data($0.bytes) })
        // Such a content can always be written; what could not would read as a share of nobody.
        return (try? encoder.encode(content)).map { [UInt8]($0) } ?? []
    }

    /// - Returns: nil when the bytes are damaged.
    init?(content: [UInt8]) {
        // Damaged bytes are told as nil, like every archive's.
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

import Foundation
import StratusRecords
import StratusWire

/// A share's participants and link as bytes, for stores that do not archive objects.
extension ShareState {
    private struct Content: Codable {
        var dictionary: Data
        var linkOrigin: String?
        var linkKey: Data?

        var encoded: [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            // Encoding these types cannot fail; if it did, the share would be read without
            // participants.
            return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
        }
    }

    /// A share's content with the key of an earlier content, if both have the same link and only the earlier one has a
    /// key.
    fileprivate static func content(_ bytes: [UInt8], keepingLinkKeyOf former: [UInt8]) -> [UInt8] {
        // Damaged bytes have no key, and nothing to keep one in.
        guard var content = try? JSONDecoder().decode(Content.self, from: Data(bytes)),
            content.linkKey == nil, let former = ShareState(content: former),
            let key = former.linkKey, ShareState(content: bytes)?.shortGUID == former.shortGUID
        else { return bytes }
        content.linkKey = Data(key.bytes)
        return content.encoded
    }

    /// The share in the service's state; the same share gives the same bytes.
    var content: [UInt8] {
        let known = base
        return Content(
            dictionary: Data(wireBytes(of: known.dictionary(known.terms))), linkOrigin: linkOrigin,
            linkKey: linkKey.map { Data($0.bytes) }
        ).encoded
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

extension RecordSnapshot.SystemFields {
    /// Keeps the key of a share's link from an earlier state. The service does not have the key: a device knows it from
    /// the link by which its user joined, and cannot fetch it again if it could not keep it or is offline.
    package mutating func keepLinkKey(of former: Self) {
        guard let sharing, let formerSharing = former.sharing, sharing != formerSharing else {
            return
        }
        self.sharing = ShareState.content(sharing, keepingLinkKeyOf: formerSharing)
    }
}

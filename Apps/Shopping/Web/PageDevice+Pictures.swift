import Foundation
import ShoppingCore

/// The kinds of pictures that every browser shows. None of them can hold a script.
package enum PictureKind: String, Sendable {
    case jpeg, png, gif, webp

    /// Detects the kind from the bytes, ignoring the declared type; nil for any other.
    package init?(_ bytes: Data) {
        func begins(_ beginning: [UInt8], at offset: Int = 0) -> Bool {
            bytes.dropFirst(offset).starts(with: beginning)
        }
        if begins([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if begins(Array("GIF8".utf8)) {
            self = .gif
        } else if begins(Array("RIFF".utf8)), begins(Array("WEBP".utf8), at: 8) {
            self = .webp
        } else {
            return nil
        }
    }

    package var contentType: String { "image/" + rawValue }
}

/// Pictures of items: taken as bytes, kept as assets of entries.
extension PageDevice {
    /// Gives an item a picture; every page shows it when this returns.
    ///
    /// - Parameter listID: the list that the user saw.
    package func setPicture(
        _ bytes: Data, of itemID: String, in listID: String?
    ) async -> PageAnswer {
        await answering {
            let (openListID, list) = try await self.list(
                of: PageRequest(listID: listID, .removePicture(itemID: itemID)))
            guard let item = list.items.first(where: { $0.id == itemID }) else {
                throw CannotDo(
                    "The item is not on the list any more; put it back, then choose its picture.")
            }
            guard bytes.count <= ShoppingLimits.pictureBytes else {
                throw CannotDo(
                    "The picture has more than \(ShoppingLimits.pictureBytes / 1_048_576) MB; choose a"
                        + " smaller one.")
            }
            guard PictureKind(bytes) != nil else {
                throw CannotDo(
                    "This file is not a picture; choose a JPEG, PNG, GIF or WebP.")
            }
            let file = self.temporaryFile()
            // A leftover in the temporary folder is readable only by its owner, and the system removes it.
            defer { try? FileManager.default.removeItem(at: file) }
            guard
                FileManager.default.createFile(
                    atPath: file.path, contents: bytes, attributes: [.posixPermissions: 0o600])
            else { throw CannotDo("This device is full; free some space, and choose it again.") }
            try await self.store.setPicture(file, of: itemID, in: openListID)
            return "\(ListText.oneLine(item.name)) has a picture."
        }
    }

    /// The picture of an item of the open list, fetched if it is not here yet; nil if there is none.
    package func picture(of itemID: String) async throws -> (bytes: Data, kind: PictureKind)? {
        guard let openListID, let file = try await store.picture(of: itemID, in: openListID),
            let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize,
            size <= ShoppingLimits.pictureBytes
        else { return nil }
        let bytes = try Data(contentsOf: file)
        return PictureKind(bytes).map { (bytes, $0) }
    }
}

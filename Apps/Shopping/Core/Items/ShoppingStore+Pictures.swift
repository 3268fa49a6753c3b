import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// Pictures of items: assets of entries, uploaded before them and fetched when they are viewed.
extension ShoppingStore {
    /// Gives an item a picture; the file is copied before this returns. Works offline.
    public func setPicture(
        _ file: URL, of itemID: String, in listID: ListID
    ) async throws {
        let known = try knownList(listID)
        let writer = writer(of: listID)
        let entry = writer.picture(
            itemID, id: newID(), at: known.journal.editTime(nowMilliseconds: clock()))
        let record = entry.record(in: listID)
        record[ShoppingRecord.pictureField] = CKAsset(fileURL: file)
        try await cache.save([record], in: listID.scope)
        try activity.keep([entry], of: listID.description)
        listsByID[listID]?.journal.insert(entry)
        listsByID[listID]?.rebuilt = nil
    }

    /// The file of an item's picture, fetched if it is not here yet; nil for an item without one.
    public func picture(of itemID: String, in listID: ListID) async throws -> URL? {
        guard let entryID = list(listID)?.items.first(where: { $0.id == itemID })?.pictureEntryID
        else { return nil }
        let id = CKRecord.ID(recordName: entryID, zoneID: listID.zoneID)
        return try await cache.asset(ShoppingRecord.pictureField, of: id, in: listID.scope).fileURL
    }
}

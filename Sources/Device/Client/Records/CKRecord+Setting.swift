import Foundation
import StratusRecords

extension CKRecord {
    /// Sets a field on behalf of the app; nil removes it.
    ///
    /// What could never be saved is a mistake in the program, and ends it here, where it was made.
    func set(_ object: Any?, forKey key: FieldKey, isEncrypted: Bool = false) {
        precondition(
            isFieldKey(key),
            "Name the field with an ASCII letter, then letters, digits and underscores, 255 at most."
        )
        let value = StoredValue(object)
        precondition(
            value?.isSupported ?? true,
            "Give the field a string, number, date, data, reference, asset or location, or an array"
                + " of one of these.")
        precondition(
            !isEncrypted || value.map { !$0.isReference && $0.assets == nil } ?? true,
            "Set references and assets on the record itself: they cannot be encrypted.")
        state.withLock { $0.set(value, for: key, isEncrypted: isEncrypted) }
    }

    /// Whether an app may set a field of this name. A share has three of the system besides.
    private func isFieldKey(_ key: FieldKey) -> Bool {
        if Names.isIdentifier(key) { return true }
        let system = [
            CKShare.SystemFieldKey.title, CKShare.SystemFieldKey.thumbnailImageData,
            CKShare.SystemFieldKey.shareType,
        ]
        return self is CKShare && system.contains(key)
    }
}

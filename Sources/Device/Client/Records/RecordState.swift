import Foundation
import StratusRecords

/// Everything about a record that can change: a value, so that it is copied and replaced whole.
struct RecordState: Sendable {
    /// A field that was changed: what it was before, and when, counted in changes.
    struct Change: Sendable {
        var base: StoredValue?
        var serial: Int
    }

    var values: [String: StoredValue] = [:]
    /// The fields that are encrypted, with a value or without.
    var encryptedKeys: Set<String> = []
    var changes: [String: Change] = [:]
    /// Changes ever made; tells which came after a request was built.
    var changeCount = 0

    var changeTag: String?
    var creationDate: Date?
    var creatorName: String?
    var modificationDate: Date?
    var modifierName: String?
    var share: CKReference?
    var parent: CKReference?
    /// The count at which the parent was changed; nil when it is as the service knows it.
    var parentSerial: Int?

    /// Whether a store of this device took the record over, be it not sent yet.
    var isKept = false

    /// What only a share has.
    var sharing: ShareState? {
        get { shares.first }
        set { shares = newValue.map { [$0] } ?? [] }
    }

    /// In an array, so that the many records that are no shares stay small.
    private var shares: [ShareState] = []

    /// Takes out what a service answered in the clear for encrypted fields: whoever wrote it had no
    /// key, so it may be anybody's.
    mutating func dropPlainValues(of keys: Set<String>) {
        for key in keys where !encryptedKeys.contains(key) {
            guard values.removeValue(forKey: key) != nil else { continue }
            encryptedKeys.insert(key)
        }
    }

    /// Sets a field; nil removes it, where it is of the kind.
    mutating func set(_ value: StoredValue?, for key: String, isEncrypted: Bool = false) {
        if encryptedKeys.contains(key) != isEncrypted {
            guard value != nil else { return }
            if isEncrypted { encryptedKeys.insert(key) } else { encryptedKeys.remove(key) }
        }
        changeCount += 1
        let previous = values[key]
        values[key] = value
        if let change = changes[key] {
            if value == nil, change.base == nil {
                // Set and removed again: the service never hears of it.
                changes[key] = nil
            } else {
                changes[key]?.serial = changeCount
            }
        } else if value != nil || previous != nil {
            changes[key] = Change(base: previous, serial: changeCount)
        }
    }

    /// Takes note that a store has the changes up to a count.
    mutating func keep(through count: Int) {
        changes = changes.filter { $0.value.serial > count }
        if let serial = parentSerial, serial <= count { parentSerial = nil }
        isKept = true
    }

    mutating func setParent(_ parent: CKReference?) {
        changeCount += 1
        self.parent = parent
        parentSerial = changeCount
    }

    /// The record before the changes that are not saved yet.
    var base: RecordState {
        var base = self
        for (key, change) in changes {
            base.values[key] = change.base
        }
        base.changes = [:]
        base.parentSerial = nil
        base.sharing = sharing?.base
        return base
    }

    /// Takes over what the service answered to a save, but keeps what was changed meanwhile.
    ///
    /// - Parameters:
    ///   - server: the record in the answer.
    ///   - sent: the record when the request was built.
    ///   - hasAllFields: whether the answer has every field; when not, what was sent is what is
    ///     stored.
    mutating func confirm(_ server: RecordState, sent: RecordState, hasAllFields: Bool) {
        let later = changesSince(sent)
        let local = values
        var confirmed = hasAllFields ? server.values : values
        if hasAllFields {
            confirmEncrypted(&confirmed, server, sent)
        } else {
            // The protocol's own form of what was sent, so that a Date reads as the service keeps
            // it.
            for key in Set(sent.changes.keys).union(later.keys) {
                confirmed[key] = sent.values[key]?.normalised
            }
        }
        for (key, value) in sent.values
        where value.assets?.allSatisfy({ $0.fileURL != nil }) == true
            && confirmed[key]?.assets != nil
        {
            // The app's own file, or the one that was fetched, serves as well as another download.
            if sent.changes[key] != nil || confirmed[key]?.hasSameAssets(as: value) == true {
                confirmed[key] = value
            }
        }
        values = confirmed
        changes = [:]
        for (key, serial) in later where local[key] != nil || confirmed[key] != nil {
            values[key] = local[key]
            changes[key] = Change(base: confirmed[key], serial: serial)
        }
        changeTag = server.changeTag
        creationDate = server.creationDate ?? creationDate
        creatorName = server.creatorName ?? creatorName
        modificationDate = server.modificationDate ?? modificationDate
        modifierName = server.modifierName ?? modifierName
        share = server.share
        if let serial = parentSerial, serial > sent.changeCount { return }
        parentSerial = nil
        if hasAllFields { parent = server.parent }
    }

    /// Decides what an answer with all fields says of the encrypted ones: an encrypted value is one
    /// that was set here, or that a key of this device opens.
    private mutating func confirmEncrypted(
        _ confirmed: inout [String: StoredValue], _ server: RecordState, _ sent: RecordState
    ) {
        for key in encryptedKeys {
            if sent.changes[key] != nil, sent.encryptedKeys.contains(key) {
                confirmed[key] = sent.values[key]?.normalised
            } else if confirmed[key] != nil, !server.encryptedKeys.contains(key) {
                // In the clear: whoever wrote it had no key, so it may be anybody's.
                confirmed[key] = nil
            }
        }
        // A mark counts with its sealed value alone.
        encryptedKeys.formUnion(server.encryptedKeys.filter { server.values[$0] != nil })
    }

    /// The fields that were changed after a request was built, with the serials of the changes.
    private func changesSince(_ sent: RecordState) -> [String: Int] {
        var later = changes.compactMapValues { $0.serial > sent.changeCount ? $0.serial : nil }
        for key in sent.changes.keys
        where changes[key] == nil && values[key] == nil && sent.values[key] != nil {
            // New in the request and removed since: no change while nothing of it was sent.
            later[key] = changeCount
        }
        return later
    }
}

extension StoredValue {
    /// Whether the service keeps the same content for both.
    fileprivate func hasSameAssets(as other: StoredValue) -> Bool {
        let checksums = assets?.map { $0.stored?.fileChecksum }
        return checksums == other.assets?.map { $0.stored?.fileChecksum }
            && checksums?.contains(nil) == false
    }

    /// The value as it reads after a round trip; references and assets stay objects.
    var normalised: StoredValue {
        if case .sealed = self { return self }
        return switch fieldValue {
        case nil, .reference, .referenceList, .asset, .assetList: self
        case .some(let value): .wire(value)
        }
    }
}

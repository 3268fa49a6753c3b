import Foundation
import StratusRecords

/// The mutable state of a record: a value type, so that it is copied and replaced as a whole.
struct RecordState: Sendable {
    /// A changed field: its former value, and the serial number of the change.
    struct Change: Sendable {
        var base: StoredValue?
        var serial: Int
    }

    var values: [String: StoredValue] = [:]
    /// The encrypted fields, with or without a value.
    var encryptedKeys: Set<String> = []
    var changes: [String: Change] = [:]
    /// Whether the service may have fields that are missing here, as in a record that was decoded from its system fields
    /// or fetched with a part of its fields: removing such a field is a change.
    var lacksFields = false
    /// The number of changes ever made; shows which were made after a request was built.
    var changeCount = 0

    var changeTag: String?
    var creationDate: Date?
    var creatorName: String?
    var modificationDate: Date?
    var modifierName: String?
    var share: CKReference?
    var parent: CKReference?
    /// The count at which the parent was changed; nil when it is the service's.
    var parentSerial: Int?
    /// The service's parent, while ``parent`` is a changed one.
    var formerParent: CKReference?

    /// Whether a store of this device has the record, even if it is not sent yet.
    var isKept = false
    /// The fields that were read since recording began; nil if they are not recorded.
    var readKeys: Set<String>?

    /// The state that only a share has.
    var sharing: ShareState? {
        get { shares.first }
        set { shares = newValue.map { [$0] } ?? [] }
    }

    /// In an array, so that the many records that are not shares stay small.
    private var shares: [ShareState] = []

    /// Removes plain values that a service returned for encrypted fields: the writer had no key, so
    /// they cannot be trusted.
    mutating func dropPlainValues(of keys: Set<String>) {
        for key in keys where !encryptedKeys.contains(key) {
            guard values.removeValue(forKey: key) != nil else { continue }
            encryptedKeys.insert(key)
        }
    }

    /// Sets a field; nil removes it if it is plain or encrypted as given.
    mutating func set(_ value: StoredValue?, for key: String, isEncrypted: Bool = false) {
        if encryptedKeys.contains(key) != isEncrypted {
            guard value != nil || (isEncrypted && lacksFields && values[key] == nil) else { return }
            if isEncrypted { encryptedKeys.insert(key) } else { encryptedKeys.remove(key) }
        }
        changeCount += 1
        let previous = values[key]
        values[key] = value
        if let change = changes[key] {
            if value == nil, change.base == nil, !lacksFields {
                // The field was set and removed again, so nothing is sent.
                changes[key] = nil
            } else {
                changes[key]?.serial = changeCount
            }
        } else if value != nil || previous != nil || lacksFields {
            changes[key] = Change(base: previous, serial: changeCount)
        }
    }

    /// Notes that a store has the changes up to a count.
    mutating func keep(through count: Int) {
        changes = changes.filter { $0.value.serial > count }
        if let serial = parentSerial, serial <= count { (parentSerial, formerParent) = (nil, nil) }
        isKept = true
    }

    mutating func setParent(_ parent: CKReference?) {
        changeCount += 1
        if parentSerial == nil { formerParent = self.parent }
        self.parent = parent
        parentSerial = changeCount
    }

    /// Adopts the service's answer to a save, but keeps changes made since the request was built.
    ///
    /// - Parameters:
    ///   - server: the record in the answer.
    ///   - sent: the record when the request was built.
    ///   - hasAllFields: whether the answer has every field; if not, the sent values are what the
    ///     service stored.
    mutating func confirm(_ server: RecordState, sent: RecordState, hasAllFields: Bool) {
        let later = changesSince(sent)
        let local = values
        var confirmed = hasAllFields ? server.values : values
        if hasAllFields {
            confirmEncrypted(&confirmed, server, sent)
        } else {
            // Sent values in the protocol's form, so that a Date reads as the service stores it.
            for key in Set(sent.changes.keys).union(later.keys) {
                confirmed[key] = sent.values[key]?.normalised
            }
        }
        for (key, value) in sent.values
        where value.assets?.allSatisfy({ $0.fileURL != nil }) == true
            && confirmed[key]?.assets != nil
        {
            // The app's own or already fetched file has the same bytes, so it is not downloaded.
            if sent.changes[key] != nil || confirmed[key]?.hasSameAssets(as: value) == true {
                confirmed[key] = value
            }
        }
        values = confirmed
        changes = [:]
        if hasAllFields { lacksFields = false }
        for (key, serial) in later
        where local[key] != nil || confirmed[key] != nil || lacksFields {
            values[key] = local[key]
            changes[key] = Change(base: confirmed[key], serial: serial)
        }
        changeTag = server.changeTag
        creationDate = server.creationDate ?? creationDate
        creatorName = server.creatorName ?? creatorName
        modificationDate = server.modificationDate ?? modificationDate
        modifierName = server.modifierName ?? modifierName
        share = server.share
        if let serial = parentSerial, serial > sent.changeCount {
            formerParent = hasAllFields ? server.parent : sent.parent
            return
        }
        (parentSerial, formerParent) = (nil, nil)
        if hasAllFields { parent = server.parent }
    }

    /// Adopts the encrypted fields of an answer with all fields: a value counts as encrypted if it
    /// was set here or a key of this device opens it.
    private mutating func confirmEncrypted(
        _ confirmed: inout [String: StoredValue], _ server: RecordState, _ sent: RecordState
    ) {
        for key in encryptedKeys {
            if sent.changes[key] != nil, sent.encryptedKeys.contains(key) {
                confirmed[key] = sent.values[key]?.normalised
            } else if confirmed[key] != nil, !server.encryptedKeys.contains(key) {
                // A plain value: the writer had no key, so it cannot be trusted.
                confirmed[key] = nil
            }
        }
        // A field that is marked as encrypted counts only with its sealed value.
        encryptedKeys.formUnion(server.encryptedKeys.filter { server.values[$0] != nil })
    }

    /// The fields that were changed after a request was built, with the serials of the changes.
    private func changesSince(_ sent: RecordState) -> [String: Int] {
        var later = changes.compactMapValues { $0.serial > sent.changeCount ? $0.serial : nil }
        for key in sent.changes.keys
        where changes[key] == nil && values[key] == nil && sent.values[key] != nil {
            // Set in the request and removed since: removing it is a change, because the value was
            // sent.
            later[key] = changeCount
        }
        return later
    }
}

extension StoredValue {
    /// Whether the service stores the same content for both.
    fileprivate func hasSameAssets(as other: StoredValue) -> Bool {
        let checksums = assets?.map { $0.stored?.fileChecksum }
        return checksums == other.assets?.map { $0.stored?.fileChecksum }
            && checksums?.contains(nil) == false
    }

    /// The value as it reads after a round trip through the protocol; references and assets stay
    /// objects.
    var normalised: StoredValue {
        if case .sealed = self { return self }
        return switch fieldValue {
        case nil, .reference, .referenceList, .asset, .assetList: self
        case .some(let value): .wire(value)
        }
    }
}

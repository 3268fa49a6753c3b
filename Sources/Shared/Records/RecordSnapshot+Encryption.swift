extension RecordSnapshot {
    /// The names of the fields that are encrypted.
    package var encryptedKeys: Set<String> {
        var keys: Set<String> = []
        for field in fields where field.isEncrypted { keys.insert(field.name) }
        return keys
    }

    /// The record without plain values in encrypted fields: such values were written without the key, so anyone may
    /// have written them.
    package func withoutPlainValues(of keys: Set<String>) -> RecordSnapshot {
        guard !keys.isEmpty,
            fields.contains(where: { !$0.isEncrypted && keys.contains($0.name) })
        else { return self }
        var record = self
        record.setFields(fields.filter { $0.isEncrypted || !keys.contains($0.name) })
        return record
    }
}

import CStorage

/// The checksum of a stored row: CRC-32C over its values in the order of their columns.
///
/// Texts and bytes are preceded by their length, so that no two rows are framed alike. It finds what a
/// disk or a cable changes; it does not stand against somebody who can write the file.
struct RowChecksum {
    /// In the place of a row that has none; no checksum is so great.
    static let none: Int64 = 1 << 40

    private var checksum: UInt32 = 0

    /// As it is stored: four bytes.
    var stored: Int64 { Int64(Int32(bitPattern: checksum)) }

    mutating func add(_ number: Int64) {
        checksum = stratus_crc32c_number(checksum, UInt64(bitPattern: number))
    }

    mutating func add(_ text: String) {
        var text = text
        checksum = text.withUTF8 { bytes in
            let length = stratus_crc32c_number(checksum, UInt64(bytes.count))
            return stratus_crc32c(length, bytes.baseAddress, bytes.count)
        }
    }

    mutating func add(_ text: String?) {
        // No text has this length.
        if let text { add(text) } else { add(-1) }
    }

    mutating func add(_ bytes: [UInt8]) {
        checksum = bytes.withUnsafeBytes { bytes in
            let length = stratus_crc32c_number(checksum, UInt64(bytes.count))
            return stratus_crc32c(length, bytes.baseAddress, bytes.count)
        }
    }
}

extension RecordRow {
    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(zone.rawValue)
        checksum.add(name)
        checksum.add(type)
        checksum.add(version)
        checksum.add(commitVersion)
        checksum.add(changeTag)
        checksum.add(isDeleted ? 1 : 0)
        checksum.add(creatorDevice)
        checksum.add(createdMilliseconds)
        checksum.add(modifiedMilliseconds)
        checksum.add(creator)
        checksum.add(modifier)
        checksum.add(modifierDevice)
        checksum.add(parent)
        checksum.add(shareRoot)
        checksum.add(payload)
        checksum.add(sharing)
        return checksum.stored
    }
}

extension AncestorRow {
    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(zone.rawValue)
        checksum.add(replacedAt)
        checksum.add(changeTag)
        checksum.add(modifiedMilliseconds)
        checksum.add(modifier)
        checksum.add(modifierDevice)
        checksum.add(parent)
        checksum.add(payload)
        return checksum.stored
    }
}

extension SubscriptionRow {
    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(user)
        checksum.add(identifier)
        checksum.add(body)
        return checksum.stored
    }
}

extension OperationKey {
    /// The checksum of the row that keeps this operation's outcome.
    func checksum(outcome: [UInt8]) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(user)
        checksum.add(device)
        checksum.add(operation)
        checksum.add(outcome)
        return checksum.stored
    }
}

extension OutboxRow {
    /// Without the identifier, which SQLite gives.
    static func checksum(body: [UInt8]) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(body)
        return checksum.stored
    }
}

import CStorage
import StratusSQLite

/// The checksum of a stored row: CRC-32C over its values in the order of their columns.
///
/// Texts and bytes are preceded by their length, so that two different rows never give the same input. It detects
/// errors of a disk or a cable; it does not protect against anyone who can write the file.
struct RowChecksum {
    /// Stands for a missing checksum; it is larger than any checksum.
    static let none: Int64 = 1 << 40

    private var checksum: UInt32 = 0

    /// The checksum as it is stored: four bytes.
    var stored: Int64 { Int64(Int32(bitPattern: checksum)) }

    mutating func add(_ number: Int64) {
        checksum = stratus_crc32c_number(checksum, UInt64(bitPattern: number))
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ text: String?) {
        // No text has this length.
        if let text { add(text) } else { add(-1) }
    }

    mutating func add(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { add($0) }
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        checksum = stratus_crc32c_counted(checksum, bytes.baseAddress, bytes.count)
    }
}

/// Reads the columns of the current row one after the other and computes their checksum. The bytes are read in SQLite's
/// memory, which takes a third of the time that copying them into Swift's strings would.
struct SummedColumns {
    private let row: SQLStatement
    private var sum = RowChecksum()

    init(_ row: SQLStatement) { self.row = row }

    /// The checksum of what was read so far.
    var checksum: Int64 { sum.stored }

    mutating func integer(_ column: Int32) -> Int64 {
        let value = row.integer(column)
        sum.add(value)
        return value
    }

    mutating func optionalInteger(_ column: Int32) -> Int64? {
        if row.isNull(column) {
            // Stored numbers of this kind are never negative.
            sum.add(-1)
            return nil
        }
        return integer(column)
    }

    mutating func flag(_ column: Int32) -> Bool {
        let value = row.integer(column) != 0
        sum.add(value ? 1 : 0)
        return value
    }

    mutating func text(_ column: Int32) -> String {
        let bytes = row.textBytes(column)
        sum.add(bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func optionalText(_ column: Int32) -> String? {
        if row.isNull(column) {
            sum.add(nil as String?)
            return nil
        }
        return text(column)
    }

    mutating func bytes(_ column: Int32) -> [UInt8] {
        let bytes = row.rawBytes(column)
        sum.add(bytes)
        return [UInt8](bytes)
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
    /// The checksum of the row that stores this operation's outcome.
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
    /// Without the identifier, which SQLite assigns.
    static func checksum(body: [UInt8]) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(body)
        return checksum.stored
    }
}

extension SQLiteTransaction.StoredZone {
    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(row.key.rawValue)
        checksum.add(row.name)
        checksum.add(row.generation)
        checksum.add(row.version)
        checksum.add(row.purgeHorizon)
        checksum.add(row.hasFeed ? 1 : 0)
        checksum.add(row.changedAtDatabaseVersion)
        checksum.add(row.deletion.map { Int64($0.rawValue) } ?? -1)
        checksum.add(row.encryptionScope.rawValue)
        checksum.add(epoch)
        return checksum.stored
    }
}

import StratusStorage

/// The epochs that a change token names: the one in which its version was taken, and those before it.
///
/// They identify the history of the token, so that a service with another history finds where the two diverged. In
/// bytes: the epoch's number, compact; unless it is 0, eight bytes of its identifier, the number of ancestors as one
/// byte, and for each of them by how much its number is lower than that of the epoch after it, compact, four bytes of
/// its identifier, and its last version, compact.
struct TokenEpochs: Hashable {
    /// An epoch before the token's own.
    struct Ancestor: Hashable {
        var number: Int64
        /// A part of the identifier. Another epoch with the same number matches it by chance once in four thousand
        /// million times.
        var check: UInt32
        /// The version of the zone or database when the epoch after it began.
        var end: Int64

        func matches(_ epoch: Epoch) -> Bool {
            number == epoch.number && check == Self.check(of: epoch)
        }

        static func check(of epoch: Epoch) -> UInt32 {
            UInt32(truncatingIfNeeded: epoch.identifier)
        }
    }

    /// How many earlier epochs a token names: up to this many starts of a service may lie between the copy of a folder
    /// and the token if the point where the two diverged is to be found.
    static let ancestors = 16

    /// Nil in a token of version 0, before which there is nothing.
    var own: Epoch?
    /// The newest first.
    var ancestors: [Ancestor] = []

    init(own: Epoch?) {
        self.own = own
    }

    /// - Parameter rows: the newest first.
    init(_ rows: some Collection<EpochRow>) {
        own = rows.first?.epoch
        var end = rows.first?.startVersion ?? 0
        ancestors.reserveCapacity(min(rows.count, Self.ancestors))
        for row in rows.dropFirst().prefix(Self.ancestors) {
            ancestors.append(
                Ancestor(
                    number: row.epoch.number, check: Ancestor.check(of: row.epoch), end: end))
            end = row.startVersion
        }
    }

    // MARK: What is intact

    /// The last version of what a token's device saw that is also in this history.
    ///
    /// Never too high. An epoch is written by one process. Two histories that both contain it share the beginning of
    /// its sequence of versions, and everything before it: they agree up to where the first of them continued in
    /// another epoch, or ends. And a token shows nothing above its own version.
    ///
    /// - Parameters:
    ///   - version: the token's (``ChangeToken/version``).
    ///   - zone: nil for a database's token.
    ///   - present: the version that the zone or database has now.
    func lastIntactVersion(
        through version: Int64, of zone: ZoneRow.Key?, present: Int64, in history: EpochHistory
    ) throws -> Int64 {
        guard version > 0, let own else { return 0 }
        if let (row, end) = try history.epoch(own.number, of: zone), row == own {
            return min(version, end ?? present)
        }
        for ancestor in ancestors {
            guard let (row, end) = try history.epoch(ancestor.number, of: zone),
                ancestor.matches(row)
            else { continue }
            return min(version, ancestor.end, end ?? present)
        }
        return 0
    }

    // MARK: Bytes

    func write(to writer: inout ByteWriter) {
        writer.write(compact: own?.number ?? 0)
        guard let own else { return }
        writer.write(number: own.identifier)
        writer.write(UInt8(ancestors.count))
        var number = own.number
        for ancestor in ancestors {
            writer.write(compact: number - ancestor.number)
            writer.write(number: ancestor.check)
            writer.write(compact: ancestor.end)
            number = ancestor.number
        }
    }

    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        var number = try reader.compact()
        guard number != 0 else { return }
        own = Epoch(number: number, identifier: try reader.number())
        for _ in 0..<(try reader.byte()) {
            number -= try reader.compact()
            ancestors.append(
                Ancestor(number: number, check: try reader.number(), end: try reader.compact()))
        }
    }
}

/// The epochs of a database and its zones in one snapshot, read on demand.
///
/// The newest ones of one zone are cached: they are needed to read its token and to make its next one.
final class EpochHistory {
    private static let kept = TokenEpochs.ancestors + 1

    private let reader: any StoreReader
    private var zone: ZoneRow.Key?
    /// The newest first; nil until they are read.
    private var newest: [EpochRow]?

    init(_ reader: any StoreReader) {
        self.reader = reader
    }

    /// The epochs in which a version of a zone or, with nil, of the database was taken, and the versions before it.
    func epochs(of zone: ZoneRow.Key?, through version: Int64) throws -> TokenEpochs {
        guard version > 0 else { return TokenEpochs(own: nil) }
        let newest = try newest(of: zone)
        let part = newest.drop { $0.startVersion >= version }
        if part.count == newest.count || newest.count < Self.kept { return TokenEpochs(part) }
        return TokenEpochs(try reader.epochs(of: zone, before: version, limit: Self.kept))
    }

    /// The epoch with a number, and the version at which it ended; nil while it lasts.
    func epoch(_ number: Int64, of zone: ZoneRow.Key?) throws -> (Epoch, end: Int64?)? {
        let newest = try newest(of: zone)
        if let index = newest.firstIndex(where: { $0.epoch.number == number }) {
            return (newest[index].epoch, index == 0 ? nil : newest[index - 1].startVersion)
        }
        guard newest.count == Self.kept else { return nil }
        let rows = try reader.epochs(of: zone, from: number, limit: 2)
        guard let row = rows.first, row.epoch.number == number else { return nil }
        return (row.epoch, rows.dropFirst().first?.startVersion)
    }

    /// The last version that this history and that of a change tag have in common, at most the tag's own; 0 when they
    /// have nothing in common.
    ///
    /// As for a token's epochs: both have the beginning of what was written in the tag's epoch.
    func intactVersion(ofTag tag: String, in zone: ZoneRow) throws -> Int64 {
        guard let version = ChangeTag.version(of: tag) else { return 0 }
        let rows = try reader.epochs(of: zone.key, before: version, limit: Self.kept)
        // The first epoch is the one in which that version was taken here; it ends at that version or later.
        var end = zone.version
        for row in rows {
            if ChangeTag.isTag(tag, of: row.epoch) { return min(version, end) }
            end = row.startVersion
        }
        return 0
    }

    private func newest(of zone: ZoneRow.Key?) throws -> [EpochRow] {
        if let newest, self.zone == zone { return newest }
        let rows = try reader.epochs(of: zone, before: .max, limit: Self.kept)
        newest = rows
        self.zone = zone
        return rows
    }
}

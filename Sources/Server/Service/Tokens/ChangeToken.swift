import Crypto
import StratusRecords
import StratusStorage

/// A device's position in the changes of a zone or of a database: opaque to the device, authenticated, and not stored
/// by the service.
///
/// Format 3, before signing: the byte 3, the kind's byte, 16 bytes that identify the database; then, as compact numbers
/// (``ByteWriter/write(compact:)``), zone key, zone generation, the mark of the access, cursor, the version through
/// which tombstones are skipped, the two bounds of a newest-first fetch, and the time of issue in milliseconds since
/// 1970; then the epochs (``TokenEpochs``). The text is base64.
///
/// Format 2, which is still read: the byte 2, kind and database as above; then zone key, zone generation, mark
/// of the access, number and identifier of the epoch, cursor and the rest up to the time of issue, big-endian,
/// eight bytes each.
struct ChangeToken: SignedText, Hashable {
    static let purpose = TokenSigner.Purpose.changeToken
    static let isInAddresses = false

    enum Kind: UInt8 {
        case database = 1
        case zone = 2
    }

    /// The state of a newest-first fetch between its pages.
    struct Reverse: Hashable {
        /// Changes from this version on were returned already.
        var below: Int64
        /// The zone's version when the fetch began: the device's position after the last page.
        var end: Int64
    }

    var kind: Kind
    var database: [UInt8]
    /// 0 in a database's token.
    var zone: Int64
    /// 0 in a database's token.
    var generation: Int64
    /// ``ZoneRights/access``: the shares by which the device's user sees the zone; 0 for its owner.
    var access: Int64
    /// The epochs in which ``version`` and the versions before it were taken.
    var epochs: TokenEpochs
    /// The version up to which everything was seen.
    var cursor: Int64
    /// Tombstones up to this version are left out: the device began without a token at it.
    var skipTombstonesThrough: Int64
    var reverse: Reverse?
    /// Milliseconds since 1970; tokens expire by it when the operator limits their lifetime.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 3
    private static let formatBeforeEpochs: UInt8 = 2
    private static let databaseBytes = 16

    /// The highest version in the token: if it is intact, all versions in the token are.
    var version: Int64 { max(cursor, skipTombstonesThrough, reverse?.end ?? 0) }

    /// The bytes that identify a database in its tokens.
    static func mark(of address: DatabaseAddress) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(address.containerAddress.container)
        writer.write(address.containerAddress.environment.rawValue)
        switch address.tenant {
        case .public: writer.write(nil as String?)
        case .private(let owner): writer.write(owner as String?)
        }
        return Array(SHA256.hash(data: writer.bytes).prefix(databaseBytes))
    }

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(kind.rawValue)
        writer.write(raw: database)
        for number in [
            zone, generation, access, cursor, skipTombstonesThrough, reverse?.below ?? 0,
            reverse?.end ?? 0, issuedMilliseconds,
        ] {
            writer.write(compact: number)
        }
        epochs.write(to: &writer)
    }
}

extension ChangeToken {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        let format = try reader.byte()
        guard let kind = Kind(rawValue: try reader.byte()) else { throw ByteReader.Malformed() }
        self.kind = kind
        database = try reader.raw(Self.databaseBytes)
        let hasEpochs = format == Self.format
        guard hasEpochs || format == Self.formatBeforeEpochs else { throw ByteReader.Malformed() }
        func number() throws(ByteReader.Malformed) -> Int64 {
            hasEpochs ? try reader.compact() : try reader.number()
        }
        zone = try number()
        generation = try number()
        access = try number()
        let ownEpoch =
            hasEpochs ? nil : Epoch(number: try reader.number(), identifier: try reader.number())
        cursor = try number()
        skipTombstonesThrough = try number()
        let below = try number()
        let end = try number()
        reverse = below == 0 ? nil : Reverse(below: below, end: end)
        issuedMilliseconds = try number()
        if let ownEpoch {
            epochs = TokenEpochs(own: ownEpoch)
        } else {
            epochs = try TokenEpochs(from: &reader)
        }
    }
}

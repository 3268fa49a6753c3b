import Crypto
import Logging
import StratusRecords
import StratusStorage

/// Where a device stands in the changes of a zone or of a database: opaque to it, authenticated,
/// and remembered by nobody but the device.
///
/// Format 2, before sealing, numbers big-endian: the byte 2, the kind's byte, 16 bytes that stand for
/// the database, zone key, zone generation, the mark of the access, incarnation number and identifier, cursor, the version
/// through which tombstones are skipped, the two bounds of a newest-first fetch, and the time of issue
/// in milliseconds since 1970, eight bytes each. The text is base64.
struct ChangeToken: SealedText, Hashable {
    static let purpose = TokenSigner.Purpose.changeToken
    static let isInAddresses = false

    enum Kind: UInt8 {
        case database = 1
        case zone = 2
    }

    /// What a newest-first fetch must remember between its pages.
    struct Reverse: Hashable {
        /// Changes from this version on were handed out already.
        var below: Int64
        /// The zone's version when the fetch began: where the device stands after the last page.
        var end: Int64
    }

    var kind: Kind
    var database: [UInt8]
    /// 0 in a database's token.
    var zone: Int64
    /// 0 in a database's token.
    var generation: Int64
    /// ``ZoneRights/access``: by which shares the device's user sees the zone; 0 for its owner.
    var access: Int64
    var incarnation: Incarnation
    /// The version up to which everything was seen.
    var cursor: Int64
    /// Tombstones up to here are left out: the device began without a token at this version.
    var skipTombstonesThrough: Int64
    var reverse: Reverse?
    /// Milliseconds since 1970; for an operator who wants to end old tokens.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 2
    private static let databaseBytes = 16

    /// What stands for a database in its tokens.
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
            zone, generation, access, incarnation.number, Int64(bitPattern: incarnation.identifier),
            cursor,
            skipTombstonesThrough, reverse?.below ?? 0, reverse?.end ?? 0, issuedMilliseconds,
        ] {
            writer.write(number: number)
        }
    }
}

extension ChangeToken {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        try reader.expect(Self.format)
        guard let kind = Kind(rawValue: try reader.byte()) else { throw ByteReader.Malformed() }
        self.kind = kind
        database = try reader.raw(Self.databaseBytes)
        zone = try reader.number()
        generation = try reader.number()
        access = try reader.number()
        incarnation = Incarnation(
            number: try reader.number(), identifier: try reader.number())
        cursor = try reader.number()
        skipTombstonesThrough = try reader.number()
        let reverse = Reverse(below: try reader.number(), end: try reader.number())
        self.reverse = reverse.below == 0 ? nil : reverse
        issuedMilliseconds = try reader.number()
    }
}

/// Makes and checks the tokens of one database in one snapshot.
struct ChangeTokens {
    let signer: TokenSigner
    let database: [UInt8]
    let incarnation: Incarnation
    let nowMilliseconds: Int64
    private let lifetimeSeconds: Double
    private let logger: Logger?

    /// - Parameters:
    ///   - lifetimeSeconds: How long tokens last that are read.
    ///   - logger: Where it is told when history was lost.
    init(
        signer: TokenSigner, address: DatabaseAddress, incarnation: Incarnation,
        nowMilliseconds: Int64, lifetimeSeconds: Double = .infinity, logger: Logger? = nil
    ) {
        self.signer = signer
        database = ChangeToken.mark(of: address)
        self.incarnation = incarnation
        self.nowMilliseconds = nowMilliseconds
        self.lifetimeSeconds = lifetimeSeconds
        self.logger = logger
    }

    func token(
        _ zone: ZoneRow, access: Int64 = 0, cursor: Int64, skipTombstonesThrough: Int64 = 0,
        reverse: ChangeToken.Reverse? = nil
    ) -> String {
        ChangeToken(
            kind: .zone, database: database, zone: zone.key.rawValue, generation: zone.generation,
            access: access, incarnation: incarnation, cursor: cursor,
            skipTombstonesThrough: skipTombstonesThrough, reverse: reverse,
            issuedMilliseconds: nowMilliseconds
        ).text(sealedBy: signer)
    }

    func databaseToken(cursor: Int64, skipTombstonesThrough: Int64 = 0) -> String {
        ChangeToken(
            kind: .database, database: database, zone: 0, generation: 0, access: 0,
            incarnation: incarnation,
            cursor: cursor, skipTombstonesThrough: skipTombstonesThrough, reverse: nil,
            issuedMilliseconds: nowMilliseconds
        ).text(sealedBy: signer)
    }

    /// Reads a zone's token.
    ///
    /// - Throws: ``ServiceError`` when it is not one of this zone, or when what happened since cannot be
    ///   told any more.
    func read(_ text: String, for zone: ZoneRow, _ access: Int64 = 0) throws -> ChangeToken {
        guard let token = ChangeToken(text: text, signer: signer), token.kind == .zone,
            token.database == database, token.zone == zone.key.rawValue
        else { throw ServiceError.unknownChangeToken }
        guard token.generation == zone.generation, token.access == access,
            token.incarnation == incarnation, isFresh(token),
            max(token.cursor, token.skipTombstonesThrough) >= zone.purgeHorizon
        else { throw ServiceError.expiredChangeToken }
        try checkHistory(of: token, version: zone.version)
        return token
    }

    /// Reads the database's token, as ``read(_:for:)`` does a zone's.
    func readDatabaseToken(_ text: String, version: Int64) throws -> ChangeToken {
        guard let token = ChangeToken(text: text, signer: signer), token.kind == .database,
            token.database == database
        else { throw ServiceError.unknownChangeToken }
        guard token.incarnation == incarnation, isFresh(token) else {
            throw ServiceError.expiredChangeToken
        }
        try checkHistory(of: token, version: version)
        return token
    }

    private func isFresh(_ token: ChangeToken) -> Bool {
        Double(nowMilliseconds - token.issuedMilliseconds) <= lifetimeSeconds * 1000
    }

    /// A cursor ahead of the history means that some was lost, as by a backup that was put back without
    /// `stratus restored`.
    private func checkHistory(of token: ChangeToken, version: Int64) throws {
        guard token.cursor > version else { return }
        logger?.error(
            "A device knows changes that this database does not: history was lost. Run stratus restored.",
            metadata: ["known": "\(token.cursor)", "version": "\(version)"])
        throw ServiceError.expiredChangeToken
    }
}

import Logging
import StratusRecords
import StratusStorage
import StratusWire

/// Makes and checks the tokens of one database in one snapshot.
struct ChangeTokens {
    let signer: TokenSigner
    let database: [UInt8]
    let nowMilliseconds: Int64
    private let history: EpochHistory
    private let lifetimeSeconds: Double
    /// The database, for the log.
    private let address: DatabaseAddress
    private let logger: Logger?

    /// - Parameters:
    ///   - reader: the snapshot for which tokens are made.
    ///   - lifetimeSeconds: how long a token is valid.
    ///   - logger: gets a line when history was lost.
    init(
        signer: TokenSigner, address: DatabaseAddress, reader: any StoreReader,
        nowMilliseconds: Int64, lifetimeSeconds: Double = .infinity, logger: Logger? = nil
    ) {
        self.signer = signer
        database = ChangeToken.mark(of: address)
        self.address = address
        self.nowMilliseconds = nowMilliseconds
        history = EpochHistory(reader)
        self.lifetimeSeconds = lifetimeSeconds
        self.logger = logger
    }

    func token(
        _ zone: ZoneRow, access: Int64 = 0, cursor: Int64, skipTombstonesThrough: Int64 = 0,
        reverse: ChangeToken.Reverse? = nil
    ) throws -> String {
        var token = ChangeToken(
            kind: .zone, database: database, zone: zone.key.rawValue, generation: zone.generation,
            access: access, epochs: TokenEpochs(own: nil), cursor: cursor,
            skipTombstonesThrough: skipTombstonesThrough, reverse: reverse,
            issuedMilliseconds: nowMilliseconds)
        token.epochs = try history.epochs(of: zone.key, through: token.version)
        return token.text(signedBy: signer)
    }

    func databaseToken(cursor: Int64, skipTombstonesThrough: Int64 = 0) throws -> String {
        var token = ChangeToken(
            kind: .database, database: database, zone: 0, generation: 0, access: 0,
            epochs: TokenEpochs(own: nil), cursor: cursor,
            skipTombstonesThrough: skipTombstonesThrough, reverse: nil,
            issuedMilliseconds: nowMilliseconds)
        token.epochs = try history.epochs(of: nil, through: token.version)
        return token.text(signedBy: signer)
    }

    /// Reads a zone's token.
    ///
    /// - Throws: ``ServiceError`` when it is not a token of this zone, or when the changes since then are no longer
    ///   known.
    func read(_ text: String, for zone: ZoneRow, _ access: Int64 = 0) throws -> ChangeToken {
        guard let token = ChangeToken(text: text, signer: signer), token.kind == .zone,
            token.database == database
        else { throw ServiceError.unknownChangeToken }
        guard token.zone == zone.key.rawValue else {
            // A zone keeps its key forever, so the token's zone of this name was lost together with its history.
            var error = ServiceError.unknownChangeToken
            error.lastIntactVersion = 0
            throw error
        }
        let intact = try intactVersion(of: token, in: zone.key, present: zone.version)
        guard intact == token.version, token.generation == zone.generation,
            token.access == access, isFresh(token),
            max(token.cursor, token.skipTombstonesThrough) >= zone.purgeHorizon
        else { throw ServiceError.expiredChangeToken(lastIntactVersion: intact) }
        return token
    }

    /// Reads a zone's token together with the change tags of what the device sent since.
    ///
    /// - Throws: also the error of an expired token, when the history of one of these was lost.
    func read(
        _ text: String?, knowing tags: [String], for zone: ZoneRow, _ access: Int64 = 0
    ) throws -> ChangeToken? {
        // The earliest of the lost ones: another tag may be of a record saved since, under a number that was used
        // before.
        var lost: Int64?
        var newest: Int64 = 0
        for tag in tags.prefix(ChangesZone.Item.knownChangeTagLimit) {
            let version = try history.intactVersion(ofTag: tag, in: zone)
            newest = max(newest, version)
            if version != ChangeTag.version(of: tag) { lost = min(lost ?? version, version) }
        }
        do {
            let token = try text.map { try read($0, for: zone, access) }
            guard let lost else { return token }
            throw ServiceError.expiredChangeToken(
                lastIntactVersion: max(token?.version ?? 0, lost))
        } catch var error as ServiceError {
            if let known = error.lastIntactVersion, let text, known < versionClaimed(by: text) {
                error.lastIntactVersion = min(known, lost ?? known)
            } else if lost == nil, let text, arePurged(after: text, in: zone) {
                // No history was lost, but the deletions since are no longer known.
                error.lastIntactVersion = nil
            } else if lost == nil, let text, let passed = passed(text, in: zone, by: newest) {
                // No history was lost, but no version says what the device has: its own newest change, and not the
                // changes of others before that one.
                error.lastIntactVersion = nil
                error.deletionsAfterVersion = passed.cursor
            } else {
                error.lastIntactVersion = error.lastIntactVersion.map { max($0, lost ?? newest) }
            }
            throw error
        }
    }

    /// Whether deletions that a token does not cover were purged.
    private func arePurged(after text: String, in zone: ZoneRow) -> Bool {
        guard let token = ChangeToken(text: text, signer: signer) else { return false }
        return token.generation == zone.generation
            && max(token.cursor, token.skipTombstonesThrough) < zone.purgeHorizon
    }

    /// The token, if its device has saved something since. Not if the zone was lost, or deleted and created again: then
    /// something was lost to the device, which must know this.
    ///
    /// - Parameter newest: the version of the newest change that the device knows of besides the token.
    private func passed(_ text: String, in zone: ZoneRow, by newest: Int64) -> ChangeToken? {
        guard let token = ChangeToken(text: text, signer: signer), token.zone == zone.key.rawValue,
            token.generation == zone.generation, newest > token.version
        else { return nil }
        return token
    }

    private func versionClaimed(by text: String) -> Int64 {
        ChangeToken(text: text, signer: signer)?.version ?? 0
    }

    /// Reads the database's token, in the way of ``read(_:for:)``.
    func readDatabaseToken(_ text: String, version: Int64) throws -> ChangeToken {
        guard let token = ChangeToken(text: text, signer: signer), token.kind == .database,
            token.database == database
        else { throw ServiceError.unknownChangeToken }
        let intact = try intactVersion(of: token, in: nil, present: version)
        guard intact == token.version, isFresh(token) else {
            throw ServiceError.expiredChangeToken(lastIntactVersion: intact)
        }
        return token
    }

    /// Reads the database's token together with other tokens that the device got since and did not fetch from.
    ///
    /// - Throws: also the error of an expired token, when the history of one of these was lost.
    func readDatabaseToken(
        _ text: String?, knowing known: [String], version: Int64
    ) throws -> ChangeToken? {
        let token = try text.map { try readDatabaseToken($0, version: version) }
        // The earliest, as for a zone.
        var lost: Int64?
        for text in known.prefix(ChangesDatabase.Request.knownSyncTokenLimit) {
            guard let known = ChangeToken(text: text, signer: signer), known.kind == .database,
                known.database == database
            else { continue }
            let common = try intactVersion(of: known, in: nil, present: version)
            if common != known.version { lost = min(lost ?? common, common) }
        }
        guard let lost else { return token }
        // Not later than the token: the device does not know which zones were deleted after it, and asks for them.
        throw ServiceError.expiredChangeToken(lastIntactVersion: min(token?.version ?? lost, lost))
    }

    private func isFresh(_ token: ChangeToken) -> Bool {
        Double(nowMilliseconds - token.issuedMilliseconds) <= lifetimeSeconds * 1000
    }

    /// The last version that the token's device and this database have in common: the token's own, unless history was
    /// lost, as by restoring a backup.
    private func intactVersion(
        of token: ChangeToken, in zone: ZoneRow.Key?, present: Int64
    ) throws -> Int64 {
        let intact = try token.epochs.lastIntactVersion(
            through: token.version, of: zone, present: present, in: history)
        if intact < token.version {
            logger?.error(
                "A device knows changes that this database lost: it fetches everything again.",
                metadata: [
                    "database": "\(address)", "known": "\(token.version)", "intact": "\(intact)",
                ])
        }
        return intact
    }
}

extension RequestContext {
    /// Makes and checks the tokens of a database's feeds in one of its snapshots.
    ///
    /// - Parameter logger: gets a line when history was lost.
    func changeTokens(
        _ signer: TokenSigner, of address: DatabaseAddress, _ reader: any StoreReader,
        logger: Logger? = nil
    ) -> ChangeTokens {
        ChangeTokens(
            signer: signer, address: address, reader: reader, nowMilliseconds: nowMilliseconds,
            lifetimeSeconds: limits.changeTokenSeconds, logger: logger)
    }
}

import Algorithms
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// All that a user has in private databases and created in public ones, as one tar file. It is written piece by piece:
/// one page of records and one piece of an asset are in memory at a time.
///
/// `account.json` describes the account. Each zone of a private database has a folder `CONTAINER/ENVIRONMENT/zone-0001`
/// with `zone.json`, the records as lines of JSON in `records-000001.jsonl` and so on, and the files of `assets`; the
/// `downloadURL` of an asset in a record is its path there. If the zone was deleted meanwhile, the folder has what was
/// read until then, and `deleted.json`; if it was also created again, what was read until then, and the records of the
/// new zone. The folder `CONTAINER/ENVIRONMENT/public` has the same for the records that the user created in the public
/// database. Encrypted values stay encrypted, as the service stores them. Records that others share with the user are
/// left out.
struct AccountArchive {
    /// Bytes of an asset that are read at a time.
    private static let pieceBytes = 256 * 1_024
    /// Records that are read at a time; fewer if the limits are small.
    private static let namesAtOnce = 25

    let requests: OwnRequests
    let storage: any StorageEngine
    let limits: Limits
    let world: World
    private var tar: TarWriter

    init(
        requests: OwnRequests, storage: any StorageEngine, limits: Limits, world: World,
        write: @escaping (_ bytes: [UInt8]) async throws -> Void
    ) {
        self.requests = requests
        self.storage = storage
        self.limits = limits
        self.world = world
        tar = TarWriter(seconds: world.nowMilliseconds() / 1_000, write: write)
    }

    mutating func write(_ user: UserRow) async throws {
        try await tar.add("account.json", wireBytes(of: ProfileLine(user: user)))
        for address in try await storage.databases() {
            switch address.tenant {
            case .private(let owner) where owner == user.recordName: try await write(address)
            case .private: continue
            case .public: try await writeCreated(by: user.recordName, in: address)
            }
        }
        try await tar.finish()
    }

    private mutating func write(_ database: DatabaseAddress) async throws {
        let address = database.containerAddress
        guard case .private(let owner) = database.tenant else { return }
        let context = RequestContext(
            owner: owner, at: address, scope: .private, limits: limits, world: world)
        let zones = try await requests.answer(ZonesList.self, .init(), in: context).items
        for (index, zone) in zones.enumerated() {
            guard case .success(let zone) = zone else { continue }
            let folder =
                "\(address.container)/\(address.environment.rawValue)/zone-\(number(index + 1, 4))"
            try await tar.add(folder + "/zone.json", wireBytes(of: zone))
            do {
                try await write(zone.zoneID, database, context, folder)
            } catch let error as ServiceError where error.code == .zoneNotFound {
                // A device has deleted it since the list was read.
                let deleted = ZoneDictionary(zoneID: zone.zoneID, isDeleted: true)
                try await tar.add(folder + "/deleted.json", wireBytes(of: deleted))
            }
        }
    }

    private mutating func write(
        _ zoneID: ZoneIDDictionary, _ database: DatabaseAddress, _ context: RequestContext,
        _ folder: String
    ) async throws {
        var pages = Pages(folder: folder, database: database)
        do {
            try await write(zoneID, context, to: &pages)
        } catch let error as ServiceError where error.code == .changeTokenExpired {
            // A device has deleted the zone since the last page, and created it again.
            try await write(zoneID, context, to: &pages)
        }
    }

    private mutating func write(
        _ zoneID: ZoneIDDictionary, _ context: RequestContext, to pages: inout Pages
    ) async throws {
        var reading = ZoneReading(requests: requests, context: context)
        while let records = try await reading.nextPage(of: zoneID) {
            try await write(records, to: &pages)
        }
    }

    /// Writes the records that the user created in a public database, regardless of its grants; no folder when there
    /// are none.
    private mutating func writeCreated(
        by user: String, in database: DatabaseAddress
    ) async throws {
        let address = database.containerAddress
        let context = RequestContext(
            owner: user, at: address, scope: .public, limits: limits, world: world)
        var pages = Pages(
            folder: "\(address.container)/\(address.environment.rawValue)/public",
            database: database)
        if try await requests.hasUsersRecord(in: context) {
            try await write(requests.records([user], in: context), to: &pages)
        }
        var created = try await requests.created(by: user, in: context)
        while let names = try await created.next() {
            let count = context.recordsAtOnce(
                Self.namesAtOnce, readBytes: context.limits.recordBytesPerLookup)
            for some in names.chunks(ofCount: count) {
                try await write(requests.records(Array(some), in: context), to: &pages)
            }
        }
    }

    /// The pages of records in a folder that are written so far.
    private struct Pages {
        let folder: String
        let database: DatabaseAddress
        var count = 0
        /// The file numbers of the assets, by the 32 bytes of their blob's name: an asset that many records have is
        /// written once.
        var numbers: [BlobName: Int] = [:]
    }

    private mutating func write(
        _ records: [RecordDictionary], to pages: inout Pages
    ) async throws {
        guard !records.isEmpty else { return }
        pages.count += 1
        var lines: [UInt8] = []
        var found: [(BlobName, Int)] = []
        for var record in records {
            if case .encoded(let payload) = record.fields,
                let fields = StoredAssets.addressed(
                    payload,
                    { blob, _ in
                        let known = pages.numbers[blob]
                        let index = known ?? pages.numbers.count + 1
                        if known == nil {
                            pages.numbers[blob] = index
                            found.append((blob, index))
                        }
                        return Array("\"assets/\(number(index, 6))\"".utf8)
                    })
            {
                record.fields = .encoded(fields)
            }
            lines += wireBytes(of: record)
            lines.append(0x0A)
        }
        try await tar.add("\(pages.folder)/records-\(number(pages.count, 6)).jsonl", lines)
        for (blob, index) in found {
            try await write(
                blob, of: pages.database, to: "\(pages.folder)/assets/\(number(index, 6))")
        }
    }

    private mutating func write(
        _ blob: BlobName, of database: DatabaseAddress, to path: String
    ) async throws {
        // The record changed after it was read, and the asset was removed.
        guard let reader = try await storage.blobs(for: database).open(blob) else {
            return
        }
        try await tar.begin(path, sizeBytes: reader.sizeBytes)
        var offset: Int64 = 0
        while offset < reader.sizeBytes {
            let piece = try await reader.read(at: offset, count: Self.pieceBytes)
            guard !piece.isEmpty else {
                throw ServiceError(
                    .notFound,
                    """
                    The asset \(path) of the archive has fewer bytes than its database says; check the \
                    data folder with stratus doctor.
                    """)
            }
            try await tar.write(piece)
            offset += Int64(piece.count)
        }
        try await tar.end()
    }

    private func number(_ value: Int, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// `account.json`.
private struct ProfileLine: WireWritable {
    var user: UserRow

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("userRecordName", user.recordName)
            writer.member("signInName", user.name)
            writer.member("emailAddress", user.emailAddress ?? "")
            writer.member("givenName", user.givenName ?? "")
            writer.member("familyName", user.familyName ?? "")
            writer.member("created", user.createdMilliseconds)
        }
    }
}

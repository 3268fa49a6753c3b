import StratusRecords
import StratusStorage
import StratusWire

/// All that a user has in private databases, as one tar file, made piece by piece: a page of records and a piece of an
/// asset are in memory at a time.
///
/// `account.json` says whose it is. Each zone has a folder `CONTAINER/ENVIRONMENT/zone-0001` with `zone.json`, the records as
/// lines of JSON in `records-000001.jsonl` and so on, and the files of `assets`; the `downloadURL` of an asset in a record
/// is its path there. Encrypted values are as the service has them.
struct AccountArchive {
    private static let pieceBytes = 256 * 1_024

    let requests: OwnRequests
    let storage: any StorageEngine
    let settings: ServiceSettings
    private var tar: TarWriter

    init(
        requests: OwnRequests, storage: any StorageEngine, settings: ServiceSettings,
        write: @escaping (_ bytes: [UInt8]) async throws -> Void
    ) {
        self.requests = requests
        self.storage = storage
        self.settings = settings
        tar = TarWriter(seconds: settings.world.nowMilliseconds() / 1_000, write: write)
    }

    mutating func write(_ user: UserRow) async throws {
        try await tar.add("account.json", wireBytes(of: ProfileLine(user: user)))
        for address in try await storage.databases() {
            guard case .private(let owner) = address.tenant, owner == user.recordName else {
                continue
            }
            try await write(address)
        }
        try await tar.finish()
    }

    private mutating func write(_ database: DatabaseAddress) async throws {
        let address = database.containerAddress
        guard case .private(let owner) = database.tenant else { return }
        let context = RequestContext(
            owner: owner, at: address, scope: .private, settings)
        let zones = try await requests.answer(ZonesList.self, .init(), in: context).items
        for (index, zone) in zones.enumerated() {
            guard case .success(let zone) = zone else { continue }
            let folder =
                "\(address.container)/\(address.environment.rawValue)/zone-\(number(index + 1, 4))"
            try await tar.add(folder + "/zone.json", wireBytes(of: zone))
            try await write(zone.zoneID, database, context, folder)
        }
    }

    private mutating func write(
        _ zoneID: ZoneIDDictionary, _ database: DatabaseAddress, _ context: RequestContext,
        _ folder: String
    ) async throws {
        var reading = ZoneReading(requests: requests, context: context)
        // Names of blobs, of 32 bytes: an asset that many records have is there once.
        var numbers: [BlobName: Int] = [:]
        var page = 0
        while let records = try await reading.nextPage(of: zoneID) {
            guard !records.isEmpty else { continue }
            page += 1
            var lines: [UInt8] = []
            var found: [(BlobName, Int)] = []
            for var record in records {
                if case .encoded(let payload) = record.fields,
                    let fields = StoredAssets.addressed(
                        payload,
                        { blob, _ in
                            let known = numbers[blob]
                            let index = known ?? numbers.count + 1
                            if known == nil {
                                numbers[blob] = index
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
            try await tar.add("\(folder)/records-\(number(page, 6)).jsonl", lines)
            for (blob, index) in found {
                try await write(blob, of: database, to: "\(folder)/assets/\(number(index, 6))")
            }
        }
    }

    private mutating func write(
        _ blob: BlobName, of database: DatabaseAddress, to path: String
    ) async throws {
        // Gone since its record was read: the record changed meanwhile.
        guard let reader = try await storage.blobs(for: database).open(blob) else {
            return
        }
        try await tar.begin(path, sizeBytes: reader.sizeBytes)
        var offset: Int64 = 0
        while offset < reader.sizeBytes {
            let piece = try await reader.read(at: offset, count: Self.pieceBytes)
            guard !piece.isEmpty else { throw ServiceError(.notFound, "An asset ended early.") }
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

/// Writes a tar file (POSIX ustar) of plain files, from the first byte to the last.
struct TarWriter {
    private static let blockBytes = 512
    private static let nameBytes = 100
    private static let prefixBytes = 155

    let seconds: Int64
    let send: ([UInt8]) async throws -> Void
    private var restBytes = 0

    init(seconds: Int64, write: @escaping ([UInt8]) async throws -> Void) {
        self.seconds = seconds
        send = write
    }

    mutating func add(_ path: String, _ bytes: [UInt8]) async throws {
        try await begin(path, sizeBytes: Int64(bytes.count))
        try await write(bytes)
        try await end()
    }

    /// - Parameter path: Cut in two at one of its slashes, with at most 155 bytes before it and 100 behind it.
    mutating func begin(_ path: String, sizeBytes: Int64) async throws {
        let (folder, name) = try Self.halves(of: Array(path.utf8))
        var head = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { head[offset + index] = byte }
        }
        func octal(_ value: Int64, _ digits: Int) -> [UInt8] {
            let text = String(value, radix: 8)
            return Array(
                (String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8)
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(sizeBytes, 11), at: 124)
        put(octal(seconds, 11), at: 136)
        put(Array("        0".utf8), at: 148)
        put(Array("ustar\u{0}00".utf8), at: 257)
        put(folder, at: 345)
        put(octal(head.reduce(0) { $0 + Int64($1) }, 6) + [0, 0x20], at: 148)
        restBytes = Int(
            (Int64(Self.blockBytes) - sizeBytes % Int64(Self.blockBytes))
                % Int64(Self.blockBytes))
        try await send(head)
    }

    private static func halves(
        of path: [UInt8]
    ) throws -> (folder: ArraySlice<UInt8>, name: ArraySlice<UInt8>) {
        if path.count <= nameBytes { return ([], path[...]) }
        guard let slash = path.prefix(prefixBytes + 1).lastIndex(of: 0x2F),
            path.count - slash - 1 <= nameBytes
        else { throw ServiceError.invalid("A path is too long for the archive.") }
        return (path[..<slash], path[(slash + 1)...])
    }

    mutating func write(_ bytes: [UInt8]) async throws { try await send(bytes) }

    mutating func end() async throws {
        try await send([UInt8](repeating: 0, count: restBytes))
    }

    mutating func finish() async throws {
        try await send([UInt8](repeating: 0, count: 2 * Self.blockBytes))
    }
}

import StratusRecords
import StratusTesting
import StratusWire

/// Pages of a zone's changes as a service might return them: every type of value, in any order, with all optional parts
/// of records.
struct RandomPages {
    static let zone = ZoneIDDictionary(zoneName: "List", ownerRecordName: owner)
    static let owner = "_0123456789abcdef0123456789abcdef"
    static let types = ["Note", "Item"]

    var chance: SeededNumbers
    private var version: Int64 = 0

    init(seed: UInt64) { chance = SeededNumbers(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &chance) }

    mutating func name() -> String { "name \(below(30))" }

    /// - Parameter isPlain: Whether records have only content that every device stores unchanged.
    mutating func page(_ number: Int, moreComing: Bool, isPlain: Bool = false) -> [UInt8] {
        var names: Set<String> = []
        var records: [RecordResult] = []
        for _ in 0..<below(12) {
            let name = name()
            guard names.insert(name).inserted else { continue }
            version += 1
            records.append(
                below(8) == 0
                    ? .deleted(
                        RecordResult.Tombstone(
                            recordName: name, recordType: "Note", zoneID: Self.zone))
                    : .record(record(name, isPlain: isPlain)))
        }
        return wireBytes(
            of: ChangesZone.Answer([
                .success(
                    ChangesZone.Page(
                        zoneID: Self.zone, records: records, syncToken: "\(number)",
                        moreComing: moreComing))
            ]))
    }

    private mutating func record(_ name: String, isPlain: Bool) -> RecordDictionary {
        let time = 1_700_000_000_000 + version
        let stamp = RecordDictionary.Stamp(
            timestampMilliseconds: below(40) == 0 ? .max : time, userRecordName: Self.owner,
            deviceID: "phone")
        var fields = (0..<below(6)).map { field($0, isPlain: isPlain) }
        if below(6) == 0 { fields.shuffle(using: &chance) }
        if below(10) == 0, let first = fields.first { fields.append(first) }
        let isShare = !isPlain && below(20) == 0
        var record = RecordDictionary(
            recordName: name, recordType: isShare ? "cloudkit.share" : Self.types[below(2)],
            recordChangeTag: String(version, radix: 36) + ".k", fields: .values(fields),
            zoneID: below(4) == 0 ? nil : Self.zone, created: below(20) == 0 ? nil : stamp,
            modified: stamp, shareRecordName: below(9) == 0 ? "a share" : nil)
        if below(5) == 0 { record.parentRecordName = .some(self.name()) }
        if isShare { record.share = ShareDictionary() }
        return record
    }

    private mutating func field(_ number: Int, isPlain: Bool) -> Field {
        let name =
            below(30) == 0 ? "*odd" : ["author", "date", "rank", "text", "title"][number % 5]
        let number = Int64(below(1_000))
        let values: [FieldValue?] = [
            .string("Ein \"Wort\" \\ \u{1}\n \u{1F9C0} \(number)"), .int64(number - 500),
            .double(Double(number) / 7), .double(Double(number)),
            .timestamp(milliseconds: number),
            .timestamp(milliseconds: 1_000, exactSeconds: -978_307_199.0001),
            .bytes([1, 2, UInt8(number % 256)]), .location(Location(latitude: 1, longitude: 2.5)),
            .stringList(["a", "b"]), .int64List([1, number]), .doubleList([0.5, 1]), .emptyList,
            .timestampList(milliseconds: [number]), .bytesList([[], [7]]), .string(""), nil,
            .stringList([]),
        ]
        let others: [FieldValue?] = [
            .reference(Reference(recordName: self.name(), zoneID: nil, action: .deleteSelf)),
            .reference(
                Reference(
                    recordName: self.name(),
                    zoneID: ZoneID(name: "Other", ownerName: Self.owner), action: .validate)),
            .referenceList([
                Reference(recordName: "x", zoneID: nil, action: Reference.Action.none)
            ]),
            .referenceList([]),
            .asset(AssetReceipt(fileChecksum: "AQ\(number)", sizeBytes: number)),
            .assetList([AssetReceipt(fileChecksum: "AR\(number)", sizeBytes: 3)]),
        ]
        if !isPlain, below(4) == 0 {
            return Field(name: name, value: others[below(others.count)])
        }
        let value = values[below(values.count)]
        return Field(name: name, value: value, isEncrypted: !isPlain && below(15) == 0)
    }
}

extension RandomPages {
    /// The empty page after the last one.
    static func end(_ number: Int) -> [UInt8] {
        wireBytes(
            of: ChangesZone.Answer([
                .success(
                    ChangesZone.Page(
                        zoneID: zone, records: [], syncToken: "\(number)", moreComing: false))
            ]))
    }

    /// The pages of a first fetch whose records have only content that every device stores unchanged.
    static func plain(_ count: Int) -> [[UInt8]] {
        var pages = RandomPages(seed: 11)
        return (0..<count).map { pages.page($0 + 1, moreComing: $0 + 1 < count, isPlain: true) }
    }
}

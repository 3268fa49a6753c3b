import Foundation
import StratusClient
import StratusRecords
import StratusWire
import TestSeeds
import Testing

@testable import StratusCache

/// Fields are read from the cache's file as they were written.
@Suite struct StoredFieldsTests {
    private func stored(_ fields: [Field]) throws -> [Field] {
        try StoredFields.encode(fields).withUnsafeBytes { try StoredFields.decode($0) }
    }

    /// The fields as a snapshot has them, where an empty list has no type and counts as declared. They are compared as
    /// texts, as NaN does not equal itself.
    private func text(_ fields: [Field]) -> [String] {
        RecordSnapshot(id: RecordID(name: "r"), type: "T", fields: fields).fields.map { "\($0)" }
    }

    @Test(arguments: Seeds.forTest("StoredFieldsTests", count: 40))
    func fieldsOfEveryTypeRoundTrip(_ seed: UInt64) throws {
        var random = FieldGenerator(seed: seed)
        for _ in 0..<50 {
            let fields = random.fields()
            #expect(text(try stored(fields)) == text(fields))
        }
    }

    @Test(arguments: Seeds.forTest("StoredFieldsTests.migration", count: 40))
    func migrationKeepsFieldsOfEveryType(_ seed: UInt64) throws {
        var random = FieldGenerator(seed: seed)
        for _ in 0..<50 {
            let fields = random.fields()
            let bytes = WriterOfFormat2.encode(fields)
            let read = try bytes.withUnsafeBytes { try FieldsOfFormat2.fields($0) }
            #expect(text(read) == text(fields))
            #expect(text(try stored(read)) == text(fields))
        }
    }

    @Test func finiteFieldsAreServiceJSON() {
        let fields = [
            Field(name: "beds", value: .int64(.max)),
            Field(name: "secret", value: .bytes([1, 2]), isEncrypted: true),
        ]
        let text = #"""
            {"beds":{"value":9223372036854775807,"type":"INT64"},"secret":{"value":"AQI=","type":"BYTES","isEncrypted":true}}
            """#
        #expect(String(decoding: StoredFields.encode(fields), as: UTF8.self) == text)
        #expect(StoredFields.encode(fields) == Data(RecordFields.values(fields).encoded()))
    }

    @Test(arguments: [
        FieldValue.double(.nan), .double(.infinity), .double(-.infinity), .double(-0.0),
        .doubleList([1, .nan]), .doubleList([-0.0]),
        .location(Location(latitude: .nan, longitude: 1, course: .infinity)),
        .locationList([Location(latitude: 0, longitude: .infinity, timestampMilliseconds: .min)]),
    ])
    func nonFiniteDoublesRoundTrip(_ value: FieldValue) throws {
        let fields = [Field(name: "number", value: value, isEncrypted: true)]
        #expect(text(try stored(fields)) == text(fields))
    }

    @Test(arguments: ["*", "*!a", "*=a", "**", "", "a\u{0}\"\\", "größe"])
    func invalidFieldNamesRoundTrip(_ name: String) throws {
        for value in [FieldValue.string("ff"), .double(.nan), .stringList(["1"])] {
            let fields = [Field(name: name, value: value)]
            #expect(text(try stored(fields)) == text(fields))
        }
    }

    @Test func truncatedFieldsAreDamaged() throws {
        let bytes = StoredFields.encode([Field(name: "a", value: .stringList(["x", "y"]))])
        for length in 1..<bytes.count {
            let error = #expect(throws: CacheError.self) {
                try bytes.prefix(length).withUnsafeBytes { _ = try StoredFields.decode($0) }
            }
            #expect(error?.code == .damaged)
        }
    }

    @Test func systemFieldsRoundTrip() throws {
        let full = RecordSnapshot.SystemFields(
            changeTag: "t", createdMilliseconds: 1, creatorRecordName: "_a",
            modifiedMilliseconds: -2, modifierRecordName: "", shareRecordName: "s")
        var share = full
        share.sharing = [1, 2, 3]
        var empty = full
        empty.sharing = []
        for system in [full, share, empty, RecordSnapshot.SystemFields(changeTag: "")] {
            let bytes = StoredSystem.encode(system)
            let read = try bytes.withUnsafeBytes { try StoredSystem.decode($0) }
            #expect(read == system)
            let former = WriterOfFormat2.encode(system)
            let migrated = try former.withUnsafeBytes { try FieldsOfFormat2.system($0) }
            #expect(migrated == system)
        }
    }
}

/// Fields of all types with values that encodings often get wrong, repeatable by seed.
private struct FieldGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    private mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }

    private mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? {
        below(3) == 0 ? nil : make(&self)
    }

    private mutating func list<Value>(_ make: (inout Self) -> Value) -> [Value] {
        (0..<below(4)).map { _ in make(&self) }
    }

    private mutating func integer() -> Int64 {
        one(of: [0, -1, .min, .max, 1 << 53 + 1, Int64(bitPattern: next())])
    }

    private mutating func double() -> Double {
        let any = Double(bitPattern: next())
        return one(of: [
            0, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            0.1, 1e16, 5, any.isNaN ? 1 : any,
        ])
    }

    private mutating func string() -> String {
        one(of: ["", "äöü 🛒", "a\"b\\c\n\u{0}\u{7F}\u{2028}", "e\u{301}", "\(next())"])
    }

    private mutating func bytes() -> [UInt8] { list { UInt8(truncatingIfNeeded: $0.next()) } }

    private mutating func location() -> Location {
        Location(
            latitude: double(), longitude: double(), horizontalAccuracy: maybe { $0.double() },
            verticalAccuracy: maybe { $0.double() }, altitude: maybe { $0.double() },
            speed: maybe { $0.double() }, course: maybe { $0.double() },
            timestampMilliseconds: maybe { $0.integer() })
    }

    private mutating func reference() -> Reference {
        Reference(
            recordName: string(),
            zoneID: maybe {
                ZoneID(
                    name: $0.one(of: [$0.string(), ZoneID.defaultZoneName]),
                    ownerName: $0.one(of: [$0.string(), ZoneID.currentUserName]))
            },
            action: one(of: [.none, .deleteSelf, .validate]))
    }

    private mutating func asset() -> AssetReceipt {
        AssetReceipt(
            fileChecksum: maybe { $0.string() }, sizeBytes: maybe { $0.integer() },
            referenceChecksum: maybe { $0.string() }, wrappingKey: maybe { $0.string() },
            receipt: maybe { $0.string() }, downloadURL: maybe { $0.string() })
    }

    private mutating func value(_ kind: Int) -> FieldValue {
        switch kind {
        case 0: .string(string())
        case 1: .int64(integer())
        case 2: .double(double())
        case 3: .timestamp(milliseconds: integer())
        case 4: .bytes(bytes())
        case 5: .location(location())
        case 6: .reference(reference())
        case 7: .asset(asset())
        case 8: .stringList(list { $0.string() })
        case 9: .int64List(list { $0.integer() })
        case 10: .doubleList(list { $0.double() })
        case 11: .timestampList(milliseconds: list { $0.integer() })
        case 12: .bytesList(list { $0.bytes() })
        case 13: .locationList(list { $0.location() })
        case 14: .referenceList(list { $0.reference() })
        case 15: .assetList(list { $0.asset() })
        default: .emptyList
        }
    }

    /// One field of each type, in the order of their names.
    mutating func fields() -> [Field] {
        (0...16).map { kind in
            Field(name: "f\(kind + 10)", value: value(kind), isEncrypted: below(2) == 0)
        }
    }
}

import StratusRecords
import StratusStorage

extension StoreConformance {
    static let assets: [Case] = [
        Case("an asset is admitted once and counted by record") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let first = asset(1, generation: 1)
            try await store.writeRecords { writer in
                var second = asset(1, generation: 2)
                try expect(writer.assetBytes, equals: 0)
                try expect(writer.admit(first), equals: first)
                second.touchedMilliseconds = 200
                let stored = try writer.admit(second)
                try expect(stored.blob, equals: first.blob)
                try expect(stored.touchedMilliseconds, equals: 200)
                try expect(writer.assetBytes, equals: 10)
                try writer.setAssets([first.blob.sha256], of: "a", in: zone)
                try writer.setAssets([first.blob.sha256], of: "a", in: zone)
                try writer.setAssets([first.blob.sha256], of: "b", in: zone)
            }
            try await store.read { reader in
                let row = try unwrap(reader.asset(first.blob.sha256))
                try expect(row.references, equals: 2)
                try expect(row.touchedMilliseconds, equals: nil)
                try expect(reader.asset([9]), equals: nil)
            }
            try await expect(.other) { try await hold(asset(7, generation: 1), in: store, zone) }
        },

        Case("only assets without a record are removed, the longest untouched first") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let rows = (1...4).map { asset(UInt8($0), generation: 1) }
            try await store.writeRecords { writer in
                for row in rows { _ = try writer.admit(row) }
                try writer.setAssets([rows[0].blob.sha256], of: "a", in: zone)
                try writer.setAssets([rows[3].blob.sha256], of: "b", in: zone)
                try writer.setAssets([], of: "b", in: zone)
            }
            try await store.writeRecords { writer in
                // The fourth was released at an unknown time.
                let taken = try writer.takeUnreferencedAssets(touchedBefore: 1_000, limit: 1)
                try expect(taken.map(\.blob), equals: [rows[1].blob])
                try expect(writer.assetBytes, equals: 30)
                try writer.touchUnreferencedAssets(atMilliseconds: 999)
                try expect(
                    writer.takeUnreferencedAssets(touchedBefore: 999, limit: 9).map(\.blob),
                    equals: [rows[2].blob])
                try expect(
                    writer.takeUnreferencedAssets(touchedBefore: 1_000, limit: 9).map(\.blob),
                    equals: [rows[3].blob])
                try expect(
                    writer.takeUnreferencedAssets(touchedBefore: 1_000, limit: 9), equals: [])
                try expect(writer.assetBytes, equals: 10)
            }
        },

        Case("assets without a record are found by the first half of their generations") {
            storage in
            let (store, zone) = try await storeWithZone(storage)
            let prefixes: [UInt64] = [7, 7, 0xFFFF_FFFF, 8, 7]
            let rows = prefixes.enumerated().map { number, prefix in
                asset(UInt8(number), generation: prefix << 32 | UInt64(number))
            }
            try await store.writeRecords { writer in
                for row in rows { _ = try writer.admit(row) }
                try writer.setAssets([rows[4].blob.sha256], of: "a", in: zone)
            }
            try await store.read { reader in
                func found(_ prefix: UInt32, amongLast count: Int = 9) throws -> [AssetRow] {
                    try reader.unreferencedAssets(generationPrefix: prefix, amongLast: count)
                }
                try expect(try found(7), equals: [rows[1], rows[0]])
                // Those of others count: no search reads all assets of a database.
                try expect(try found(7, amongLast: 3), equals: [rows[1]])
                try expect(try found(7, amongLast: 2), equals: [])
                try expect(try found(0xFFFF_FFFF), equals: [rows[2]])
                try expect(try found(9), equals: [])
            }
        },

        Case("a deleted zone releases its assets, another keeps its own") { storage in
            let (store, zone) = try await storeWithZone(storage)
            let row = asset(1, generation: 1)
            let references = try await store.writeRecords { writer in
                let other = try writer.createZone(named: "Plans", hasFeed: true).key
                _ = try writer.admit(row)
                try writer.setAssets([row.blob.sha256], of: "a", in: zone)
                try writer.setAssets([row.blob.sha256], of: "b", in: zone)
                try writer.setAssets([row.blob.sha256], of: "a", in: other)
                try writer.deleteZone(zone, reason: .deleted)
                let left = try writer.asset(row.blob.sha256)?.references
                try writer.setAssets([], of: "a", in: other)
                return [left, try writer.asset(row.blob.sha256)?.references]
            }
            try expect(references, equals: [1, 0])
        },

        Case("a stored blob exists and is listed, and a deleted one is gone") { storage in
            _ = try await storage.store(for: address)
            let blobs = try await storage.blobs(for: address)
            let name = BlobName(sha256: Array(repeating: 0xAB, count: 32), generation: .max)
            let writer = try await blobs.begin()
            try await writer.write([1, 2])
            try await writer.write([3])
            try expect(try await blobs.open(name) == nil, "a blob exists before it is stored")
            try await writer.keep(as: name, atMilliseconds: 1_234_567)
            await writer.discard()
            let listed = try await blobs.blobs(beginningWith: 0xAB)
            try expect(listed, equals: [StoredBlob(name: name, keptMilliseconds: 1_234_567)])
            try expect(try await blobs.blobs(beginningWith: 0xAC), equals: [])
            let reader = try unwrap(try await blobs.open(name))
            try expect(reader.sizeBytes, equals: 3)
            try await blobs.delete(name)
            try await blobs.delete(name)
            try expect(try await blobs.open(name) == nil, "a deleted blob exists")
            // An open reader can continue to read.
            try expect(try await reader.read(at: 0, count: 2), equals: [1, 2])
            try expect(try await reader.read(at: 2, count: 9), equals: [3])
            try expect(try await reader.read(at: 3, count: 9), equals: [])
            try expect(try await storage.databasesWithBlobs(), equals: [address])
        },
    ]

    private static func asset(_ digit: UInt8, generation: UInt64) -> AssetRow {
        AssetRow(
            blob: BlobName(
                sha256: Array(repeating: digit, count: 32), generation: generation),
            sizeBytes: 10, touchedMilliseconds: 100 + Int64(digit))
    }

    private static func hold(
        _ row: AssetRow, in store: any RecordStore, _ zone: ZoneRow.Key
    ) async throws {
        try await store.writeRecords {
            try $0.setAssets([row.blob.sha256], of: "x", in: zone)
        }
    }
}

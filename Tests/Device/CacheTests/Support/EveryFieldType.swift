import StratusClient
import StratusRecords

/// A field of each type, as the service or an app sets it. Making/MakeCache.swift, which is compiled together with this
/// file, saved these fields in the record "every type" of the stored files.
enum EveryFieldType {
    static let fields: [Field] = {
        let location = Location(
            latitude: 46.5775, longitude: 7.9853, horizontalAccuracy: 5, verticalAccuracy: 8,
            altitude: 3_970, speed: 0, course: 90, timestampMilliseconds: 1_789_999_000_000)
        let place = Location(latitude: -33.5, longitude: 151.25)
        let reference = Reference(
            recordName: "beach", zoneID: ZoneID(name: "Photos"), action: .none)
        let asset = AssetReceipt(
            fileChecksum: "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", sizeBytes: 5,
            referenceChecksum: "BBBBBBBBBBBBBBBBBBBBBBBBBBBB",
            wrappingKey: "CCCCCCCCCCCCCCCCCCCCCA==", receipt: "receipt",
            downloadURL: "http://127.0.0.1:1/asset/${f}")
        return [
            Field(name: "asset", value: .asset(asset)),
            Field(name: "assets", value: .assetList([asset, AssetReceipt(sizeBytes: 0)])),
            Field(name: "blob", value: .bytes([0, 1, 127, 128, 255])),
            Field(name: "blobs", value: .bytesList([[], [42]])),
            Field(name: "count", value: .int64(.min)),
            Field(name: "counts", value: .int64List([0, -1, .max])),
            Field(name: "date", value: .timestamp(milliseconds: -1)),
            Field(name: "dates", value: .timestampList(milliseconds: [0, 1_789_999_000_123])),
            Field(name: "nothing", value: .emptyList),
            Field(name: "owner", value: .reference(reference)),
            Field(
                name: "owners",
                value: .referenceList([
                    reference, Reference(recordName: "other", action: .deleteSelf),
                ])),
            Field(name: "place", value: .location(location)),
            Field(name: "places", value: .locationList([location, place])),
            Field(name: "ratio", value: .double(-0.1)),
            Field(name: "ratios", value: .doubleList([0, 1e300, .leastNonzeroMagnitude])),
            Field(name: "secret", value: .bytes([9, 8, 7]), isEncrypted: true),
            Field(name: "text", value: .string("Größe 😀\n\0")),
            Field(name: "texts", value: .stringList(["", "a\"b\\c"])),
        ]
    }()
}

import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// A body that comes in these pieces.
func pieces(_ pieces: [UInt8]...) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        for piece in pieces { continuation.yield(piece) }
        continuation.finish()
    }
}

func photo(_ asset: AssetReceipt) -> Field { Field(name: "photo", value: .asset(asset)) }

extension AssetsUpload.TokenResult {
    var token: AssetsUpload.Token? { if case .success(let token) = self { token } else { nil } }
    var failure: AssetFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension AssetsRereference.AssetResult {
    var asset: AssetReceipt? { if case .success(let asset) = self { asset } else { nil } }
    var failure: AssetFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension RecordResult {
    /// The value of the field `photo`.
    var asset: AssetReceipt? {
        if case .asset(let asset) = values["photo"] { asset } else { nil }
    }
}

extension Person {
    /// The token of a new address for an upload.
    func uploadAddress(
        zoneName: String? = nil, scope: DatabaseScope = .private
    ) async throws -> String {
        let tokens = try await ask(
            AssetsUpload.self,
            .init(tokens: [.init(fieldName: "photo")], zoneID: zoneName.map(zone)), in: scope
        ).items
        return String(try #require(tokens[0].token).url.dropFirst("/assets/put/".count))
    }

    func upload(
        _ bytes: [UInt8], zoneName: String? = nil, scope: DatabaseScope = .private
    ) async throws -> AssetReceipt {
        let half = bytes.count / 2
        return try await world.service.upload(
            to: try await uploadAddress(zoneName: zoneName, scope: scope),
            pieces(Array(bytes[..<half]), Array(bytes[half...]))
        ).singleFile
    }

    private var database: DatabaseAddress { DatabaseAddress(world.address, .private(owner: name)) }

    func assetBytes() async throws -> Int64 {
        try await world.service.storage.store(for: database).read { try $0.assetBytes }
    }

    func blobNames() async throws -> [BlobName] {
        let blobs = try await world.service.storage.blobs(for: database)
        var names: [BlobName] = []
        for byte in UInt8.min ... .max {
            names += try await blobs.blobs(beginningWith: byte).map(\.name)
        }
        return names
    }

    /// The row of the asset with this content.
    func assetRows(_ bytes: [UInt8]) async throws -> AssetRow? {
        for name in try await blobNames() {
            let blobs = try await world.service.storage.blobs(for: database)
            guard let reader = try await blobs.open(name),
                try await reader.read(at: 0, count: bytes.count + 1) == bytes
            else { continue }
            return try await world.service.storage.store(for: database)
                .read { try $0.asset(name.sha256) }
        }
        return nil
    }
}

extension World {
    /// The bytes behind an asset's address.
    func fetch(_ asset: AssetReceipt?) async throws -> [UInt8] {
        let url = try #require(asset?.downloadURL)
        let token = url.split(separator: "/")[2]
        let download = try await service.download(String(token), paidBy: .inProcess)
        #expect(asset?.sizeBytes == download.sizeBytes)
        return try await download.read(at: 0, count: Int(download.sizeBytes))
    }
}

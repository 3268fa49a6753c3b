import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

/// Puts addresses into the records of an answer, for their assets, and identifiers into its failures.
///
/// A record without assets costs a search in its bytes (`StoredAssets`).
public struct AssetLinks {
    private struct Key: Hashable {
        var database: DatabaseAddress
        var blob: BlobName
        var fileName: String?
    }

    private let signer: TokenSigner
    private let context: RequestContext
    private let world: World
    private let endMilliseconds: Int64
    private var addresses: [Key: [UInt8]] = [:]

    /// - Parameter world: Makes the identifiers of failures.
    init(signer: TokenSigner, context: RequestContext, world: World) {
        self.signer = signer
        self.context = context
        self.world = world
        endMilliseconds =
            context.nowMilliseconds
            + Int64(context.limits.downloadAddressSeconds * 1_000)
    }

    mutating func link(_ results: inout [RecordResult]) {
        for index in results.indices { link(&results[index]) }
    }

    mutating func link(_ result: inout RecordResult) {
        switch result {
        case .record(let record):
            guard record.hasStoredAssets else { return }
            result = .record(linked(record))
        case .failure(let failure):
            var failure = failure
            failure.uuid = world.newUUID()
            failure.serverRecord = failure.serverRecord.map { linked($0) }
            failure.ancestorRecord = failure.ancestorRecord.map { linked($0) }
            result = .failure(failure)
        case .deleted: return
        }
    }

    mutating func link(_ results: inout [ShareResult]) {
        for index in results.indices {
            guard case .success(var metadata) = results[index] else { continue }
            metadata.rootRecord = metadata.rootRecord.map { linked($0) }
            metadata.share = metadata.share.map { linked($0) }
            results[index] = .success(metadata)
        }
    }

    /// The record with addresses for its assets.
    mutating func linked(_ record: RecordDictionary) -> RecordDictionary {
        guard case .encoded(let payload) = record.fields,
            let database = context.assetDatabase(of: record.zoneID),
            let fields = StoredAssets.addressed(
                payload, { address(of: Key(database: database, blob: $0, fileName: $1)) })
        else { return record }
        var record = record
        record.fields = .encoded(fields)
        return record
    }

    /// The address as a JSON string. CloudKit's clients put the name of the file in place of `${f}`.
    private mutating func address(of key: Key) -> [UInt8] {
        if let address = addresses[key] { return address }
        let text = DownloadAddress(
            database: key.database, blob: key.blob, endMilliseconds: endMilliseconds,
            fileName: key.fileName
        ).text(signedBy: signer)
        var writer = JSONWriter(reservingBytes: 512)
        writer.string(context.origin + DownloadAddress.path + text + "/${f}")
        let address = writer.finish()
        addresses[key] = address
        return address
    }
}

extension RecordDictionary {
    fileprivate var hasStoredAssets: Bool {
        guard case .encoded(let payload) = fields else { return false }
        return StoredAssets.areIn(payload)
    }
}

import Algorithms
import StratusClient

/// The requests to both kinds of databases, divided to the service's limits.
struct DatabaseRequests: Sendable {
    let database: CKDatabase
    let zoneID: CKRecordZone.ID

    /// The items of a request at first, as many as CloudKit documents; fewer if the service refuses so many.
    private static let largestBatch = 400

    /// The ID of a record whose name may come from the service, which refuses a name that is not valid.
    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(known: name, zoneID: zoneID) }

    func records(named names: [String], withFiles: Bool) async throws -> NamedRecords {
        let database = withFiles ? database : database.withoutAssetDownloads
        var found = NamedRecords()
        var lacking: [String] = []
        for batch in names.chunks(ofCount: Self.largestBatch) {
            for (id, result) in try await database.recordsInHalves(for: batch.map(id)) {
                do {
                    found.records[id.recordName] = try result.get()
                } catch let error as CKError where error.isNotFound {
                    // A missing record is left out of the result.
                    continue
                } catch let error as CKError where error.isOfUnreadableRecord {
                    // The caller decides what this means.
                    found.unreadable[id.recordName] = error
                } catch let error as CKError where withFiles && error.lacksAsset {
                    // The record is fetched without its file below.
                    lacking.append(id.recordName)
                }
            }
        }
        found.add(try await withoutFiles(lacking))
        return found
    }

    /// Fetches records whose files the service has lost, without the files, so that they do not keep other records from
    /// syncing.
    func withoutFiles(_ names: [String]) async throws -> NamedRecords {
        guard !names.isEmpty else { return NamedRecords() }
        return try await records(named: names.sorted(), withFiles: false)
    }

    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>] {
        var results: [String: Result<CKRecord?, any Error>] = [:]
        var size = Self.largestBatch
        // Records that other records need come first, so that no batch is refused because a needed record is in a later
        // one.
        var (records, names) = (records.neededFirst[...], names[...])
        while !records.isEmpty || !names.isEmpty {
            let saving = records.prefix(size)
            let deleting = names.prefix(size - saving.count)
            do {
                let answer = try await database.modifyRecords(
                    saving: Array(saving), deleting: deleting.map(id), atomically: false)
                for (id, result) in answer.saveResults {
                    results[id.recordName] = result.map { $0 }
                }
                for (id, result) in answer.deleteResults {
                    results[id.recordName] = result.map { nil }
                }
            } catch let error as CKError where error.contains(.limitExceeded) && size > 1 {
                // The same items again, in smaller requests.
                size /= 2
                continue
            }
            records = records.dropFirst(saving.count)
            names = names.dropFirst(deleting.count)
        }
        return results
    }

    /// All pages of a query; a record type that was never saved has no records.
    func all(_ query: CKQuery) async throws -> NamedRecords {
        var found = NamedRecords()
        do {
            var page = try await database.records(matching: query, inZoneWith: zoneID)
            while true {
                var lacking: [String] = []
                for (id, result) in page.matchResults {
                    do {
                        found.records[id.recordName] = try result.get()
                    } catch let error as CKError where error.isOfUnreadableRecord {
                        // The caller decides what this means.
                        found.unreadable[id.recordName] = error
                    } catch let error as CKError where error.lacksAsset {
                        // The record is fetched without its file below.
                        lacking.append(id.recordName)
                    }
                }
                found.add(try await withoutFiles(lacking))
                guard let cursor = page.queryCursor else { return found }
                page = try await database.records(continuingMatchFrom: cursor)
            }
        } catch let error as CKError where error.isNotFound {
            // Without the zone there are no records.
            return found
        }
    }
}

extension CKError {
    /// Whether the service has lost the file of an asset.
    var lacksAsset: Bool { contains(.assetNotAvailable) }
}

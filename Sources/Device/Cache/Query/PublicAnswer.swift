import Foundation
import StratusClient
import StratusRecords

/// How old an answer of the public database may be.
public enum AnswerAge: Hashable, Sendable {
    /// The stored answer, if it is no older than this. Otherwise the service is asked; if it cannot be reached,
    /// the older answer is returned.
    case cached(upTo: Duration)
    /// The service is asked; if it cannot be reached, the stored answer is returned.
    case refresh
    /// Only the stored answer.
    case cacheOnly
}

/// An answer of the public database to a query, new or stored.
public struct PublicAnswer: Sendable {
    /// The matches in the order of the query, at most as many as were requested.
    public var records: [CKRecord]
    /// When the service answered, by this device's clock.
    public var date: Date
    /// Why the service could not be asked; nil if it answered, or did not have to be asked.
    public var error: CKError?
    /// Whether it is older than requested.
    public var isStale: Bool { error != nil }
}

/// Queries of the public database through the cache, which stores each answer for later queries and
/// for times without a network.
///
/// ```swift
/// let huts = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > 10"))
/// let answer = try await cache.publicRecords(matching: huts, age: .cached(upTo: .seconds(60)))
/// if answer.isStale { print("as of", answer.date) }
/// ```
extension CloudCache {
    /// The matches of a query in the public database, stored or new as the app allows.
    ///
    /// Each combination of query, zone and limit has its own answer; the newest 200 are kept. The records belong to the
    /// answer: `records(matching:in:)` does not find them; save them with the `CKDatabase`. Files of assets are not
    /// kept.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - zoneID: the zone to search; nil means the default zone.
    ///   - limit: the maximum number of matches.
    ///   - age: how old the answer may be.
    /// - Throws: `CKError` if the service refuses, or cannot be reached and this device has no answer; ``CacheError``
    ///   `noAnswer` under `cacheOnly`; `invalidDatabase` if the cache has no container.
    public func publicRecords(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, limit: Int = 100,
        age: AnswerAge = .cached(upTo: .seconds(60))
    ) async throws -> PublicAnswer {
        guard let publicDatabase else { throw CacheError.withoutContainer }
        let key = try PublicAnswerKey(query, zoneID, limit).text
        let kept = try await file.disk.read { [file] in try file.answer(key) }
        let now = world.nowMilliseconds()
        switch age {
        case .cacheOnly:
            guard let kept else {
                throw CacheError(
                    .noAnswer,
                    "No answer to this query of \(query.recordType) is stored on this device. Connect to"
                        + " the network and run the query once.")
            }
            return kept
        case .cached(let limit):
            // The absolute difference, so that an answer expires even if the clock was set back.
            if let kept, abs(world.now.timeIntervalSince(kept.date)) <= limit / .seconds(1) {
                return kept
            }
        case .refresh: break
        }
        do {
            let matches = try await publicDatabase.records(
                matching: query, inZoneWith: zoneID, desiredKeys: nil, resultsLimit: limit
            ).matchResults
            let records = try matches.map { try $0.1.get() }
            let snapshots = try records.map { try RecordSnapshot($0) }
            try await file.disk.write { [file] in
                try file.keep(snapshots, for: key, nowMilliseconds: now)
            }
            return PublicAnswer(records: records, date: world.now)
        } catch let error as CKError where error.isOfUnreachableService {
            guard var kept else { throw error }
            kept.error = error
            return kept
        }
    }
}

extension CKError {
    /// Whether the service could not be reached, or is too busy.
    fileprivate var isOfUnreachableService: Bool {
        switch code {
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited,
            .serverResponseLost, .zoneBusy:
            true
        default: false
        }
    }
}

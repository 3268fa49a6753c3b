import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusWire

/// A fault in the code under test, injected at one of its seams: it shows that an oracle can fail.
///
/// The product contains none of them: the content of requests, of answers, and of a file at its next opening, and the
/// choice of the resolver, are changed from outside.
///
/// ```swift
/// let outcome = Simulation.run(seed: 7, mutation: .keepsServerRecords)
/// print(outcome.violations.isEmpty ? "This seed does not find it." : "found")
/// ```
public enum Mutation: String, CaseIterable, Sendable {
    /// S1: the file does not note that a batch was in progress when the process ended.
    case forgetsUnansweredSaves = "S1"
    /// S2: the service's record replaces the whole local one.
    case keepsServerRecords = "S2"
    /// S3: the values that earlier edits sent are not remembered.
    case forgetsEarlierEdits = "S3"
    /// S4: an expired token does not report what is intact.
    case hidesLostHistory = "S4"
    /// S5: which generation of a zone was deleted is not remembered.
    case forgetsDeletedZones = "S5"
    /// S6: a deletion that got no answer is repeated, even if the record has changed since.
    case repeatsDeletions = "S6"
    /// S8: a change that the service refused stays refused, whatever the app does.
    case keepsRefusals = "S8"
    /// P1: changes of existing records are acknowledged but never made.
    case acknowledgesNothing = "P1"
    /// P2: pages leave out a record.
    case skipsRecords = "P2"
    /// P3: the token of a database's changes covers a zone that they do not list.
    case hidesZones = "P3"
    /// P4: a request that arrives again, or late, counts as a separate one.
    case forgetsOperations = "P4"
    /// P6: a save with an old change tag overwrites the stored record.
    case ignoresTags = "P6"
    /// P7: a fetch of a zone never ends.
    case endsNoFetch = "P7"
    /// P8: pages leave out deletions.
    case hidesDeletions = "P8"

    /// Q1: an index does not follow its records.
    case leavesIndexBehind = "Q1"
    /// Q2: the observer of a query is not handed an update.
    case missesUpdates = "Q2"
    /// Q3: a fetch reports records that are here already as changes.
    case repeatsNotifications = "Q3"
    /// Q4: an observer of records is not notified of a change.
    case missesChanges = "Q4"

    /// P5: an atomic request is served in two parts.
    case splitsBatches = "P5"
    /// T1: each record of an app's transaction is saved by itself.
    case splitsTransactions = "T1"
    /// P9: a user who leaves a share gets a success, but stays in it.
    case keepsLeavers = "P9"
    /// P10: a change that no push reported is answered as if nothing had changed.
    case trustsPushes = "P10"
    /// P11: a token of history that the service lost is answered as if nothing had changed.
    case keepsLostTokens = "P11"
    /// A1: a byte of a download is changed.
    case changesBytes = "A1"
    /// A2: the use of an asset is not removed when its record is removed.
    case keepsUses = "A2"
    /// A3: the file no longer says which assets are here.
    case forgetsAssets = "A3"
    /// E1: zones that an app deletes with everything stay.
    case keepsErasedZones = "E1"
    /// G1: reports stay in the file after the app has acknowledged them.
    case keepsReports = "G1"
    /// D1: disks falsely confirm that data is synchronised; detectable only if files are on disks.
    case lyingDisk = "D1"

    /// The answer that a device gets without its request being served; nil if it is served.
    func answer<Request>(
        insteadOf request: Request, in scope: DatabaseScope?
    ) -> (any Sendable)? {
        switch self {
        case .keepsLeavers:
            guard scope == .shared, let modify = request as? ZonesModify.Request else { return nil }
            return ZonesModify.Answer(
                modify.operations.map { operation in
                    var zone = ZoneDictionary(zoneID: operation.zoneID)
                    zone.isDeleted = true
                    return .success(zone)
                })
        case .acknowledgesNothing:
            guard let modify = request as? RecordsModify.Request,
                modify.operations.allSatisfy({ $0.kind == .update || $0.kind == .replace })
            else { return nil }
            return RecordsModify.Answer(records: modify.operations.map { .record($0.record) })
        default: return nil
        }
    }

    /// A changed piece of an asset, which the device gets instead.
    func changed(piece: [UInt8]) -> [UInt8] {
        guard self == .changesBytes, let last = piece.last else { return piece }
        return piece.dropLast() + [last ^ 1]
    }

    /// A changed request, which is sent instead.
    func changed<Request>(_ request: Request) -> Request {
        switch self {
        case .ignoresTags:
            guard var modify = request as? RecordsModify.Request else { return request }
            for index in modify.operations.indices {
                switch modify.operations[index].kind {
                case .update: modify.operations[index].kind = .forceUpdate
                case .replace: modify.operations[index].kind = .forceReplace
                case .create: modify.operations[index].kind = .forceReplace
                default: break
                }
                modify.operations[index].record.recordChangeTag = nil
            }
            return modify as? Request ?? request
        case .forgetsOperations:
            if var modify = request as? RecordsModify.Request {
                modify.operationID = nil
                return modify as? Request ?? request
            }
            guard var modify = request as? ZonesModify.Request else { return request }
            modify.operationID = nil
            return modify as? Request ?? request
        case .repeatsDeletions:
            guard var modify = request as? RecordsModify.Request else { return request }
            for index in modify.operations.indices
            where modify.operations[index].kind == .delete {
                modify.operations[index].kind = .forceDelete
                modify.operations[index].record.recordChangeTag = nil
            }
            return modify as? Request ?? request
        default: return request
        }
    }

    private static let ofPages: Set<Self> = [
        .skipsRecords, .endsNoFetch, .hidesDeletions, .hidesLostHistory, .keepsLostTokens,
    ]

    /// A changed answer, which the device gets instead.
    func changed<Answer, Request>(_ answer: Answer, to request: Request) -> Answer {
        if self == .hidesZones, var changes = answer as? ChangesDatabase.Answer,
            changes.zones.count > 1
        {
            changes.zones.removeLast()
            return changes as? Answer ?? answer
        }
        guard Self.ofPages.contains(self), var pages = answer as? ChangesZone.Answer
        else { return answer }
        for index in pages.items.indices {
            if self == .keepsLostTokens, case .failure(let failure) = pages.items[index],
                failure.error.code == .changeTokenExpired,
                let item = (request as? ChangesZone.Request)?.zones[index],
                let token = item.syncToken
            {
                pages.items[index] = .success(
                    ChangesZone.Page(
                        zoneID: item.zoneID, records: [], syncToken: token, moreComing: false))
            }
            // An expired token is an answer about its zone.
            if self == .hidesLostHistory, case .failure(var failure) = pages.items[index] {
                failure.error.lastIntactVersion = nil
                pages.items[index] = .failure(failure)
            }
            guard case .success(var page) = pages.items[index] else { continue }
            page.records = page.records.enumerated().filter { place, record in
                switch record {
                case .deleted: self != .hidesDeletions
                case .record: self != .skipsRecords || place % 3 != 2
                case .failure: true
                }
            }.map(\.element)
            page.moreComing = page.moreComing || self == .endsNoFetch
            pages.items[index] = .success(page)
        }
        return pages as? Answer ?? answer
    }

    /// The answer that a device gets instead of a refusal; nil if it is refused.
    func answer<Request>(
        insteadOf failure: ServiceFailure, to request: Request
    ) -> (any Sendable)? {
        guard self == .keepsLostTokens, failure.error.code == .changeTokenExpired,
            let changes = request as? ChangesDatabase.Request, let token = changes.syncToken
        else { return nil }
        return ChangesDatabase.Answer(zones: [], syncToken: token, moreComing: false)
    }

    /// A changed refusal, which the device gets instead.
    func changed(_ failure: ServiceFailure) -> ServiceFailure {
        guard self == .hidesLostHistory else { return failure }
        var failure = failure
        failure.error.lastIntactVersion = nil
        return failure
    }

    /// The SQL that makes the file forget something whenever a cache is opened on it.
    var sqlAtOpening: String? {
        switch self {
        case .forgetsUnansweredSaves: "UPDATE pending SET isUncertain = 0"
        case .forgetsEarlierEdits: "UPDATE pending SET earlier = x''"
        case .repeatsDeletions:
            """
            CREATE TRIGGER IF NOT EXISTS repeatsDeletions AFTER UPDATE OF isUncertain ON pending
            WHEN NEW.kind = 1 AND NEW.isUncertain <> 0
            BEGIN UPDATE pending SET isUncertain = 0 WHERE sequence = NEW.sequence; END
            """
        case .keepsRefusals:
            """
            CREATE TRIGGER IF NOT EXISTS keepsRefusals AFTER UPDATE OF errorCode ON pending
            WHEN OLD.errorCode IS NOT NULL AND NEW.errorCode IS NULL
            BEGIN
                UPDATE pending SET errorCode = OLD.errorCode, errorMessage = OLD.errorMessage
                WHERE sequence = NEW.sequence;
            END
            """
        case .keepsReports:
            """
            CREATE TRIGGER IF NOT EXISTS keepsReports BEFORE DELETE ON report
            BEGIN SELECT RAISE(IGNORE); END
            """
        case .forgetsDeletedZones: "DELETE FROM flag WHERE name LIKE 'deletedGeneration/%'"
        case .keepsUses: "DROP TRIGGER IF EXISTS recordAssetsGone"
        case .forgetsAssets: "DELETE FROM asset"
        default: nil
        }
    }

    /// The SQL for a file whose app declared its types, before its queries.
    var sqlBeforeQueries: String? {
        self == .leavesIndexBehind ? "DELETE FROM stratus_index_1" : nil
    }

    /// The SQL for a file before everything is fetched again without changes.
    var sqlBeforeRefetch: String? {
        self == .repeatsNotifications ? "UPDATE record SET system = NULL" : nil
    }

    /// The SQL for a file after everything was deleted.
    var sqlAfterDeletingEverything: String? {
        self == .keepsErasedZones
            ? "UPDATE zone SET state = 1, needsFetch = 1 WHERE state IN (2, 3)" : nil
    }

    var resolver: (any ConflictResolver)? {
        self == .keepsServerRecords ? KeepsServer() : nil
    }
}

/// The resolver of S2.
private struct KeepsServer: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
}

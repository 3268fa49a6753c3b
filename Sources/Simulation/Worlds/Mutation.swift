import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusWire

/// A fault of the code under test, made at one of its seams: shows that an oracle can fail.
///
/// The product has none of them: what a request says, what an answer says, what a file says at its next
/// opening, and which resolver is asked, are changed from outside.
public enum Mutation: String, CaseIterable, Sendable {
    /// S1: the file does not say that a batch was under way when the process ended.
    case forgetsUnansweredSaves = "S1"
    /// S2: the service's record takes the place of the whole local one.
    case keepsServerRecords = "S2"
    /// S3: what earlier edits sent is not remembered.
    case forgetsEarlierEdits = "S3"
    /// S4: an expired token does not say what is intact.
    case hidesLostHistory = "S4"
    /// S5: which zone of a name was deleted is not remembered.
    case forgetsDeletedZones = "S5"
    /// S6: a deletion that got no answer is repeated whatever the record is by then.
    case repeatsDeletions = "S6"
    /// P1: changes of records that exist are acknowledged and never done.
    case acknowledgesNothing = "P1"
    /// P2: pages leave out a record.
    case skipsRecords = "P2"
    /// P3: the token of a database's changes covers a zone that they do not list.
    case hidesZones = "P3"
    /// P4: a request that arrives once more, or late, is one of its own.
    case forgetsOperations = "P4"
    /// P6: a save with an old tag overwrites what is there.
    case ignoresTags = "P6"
    /// P7: a fetch of a zone never ends.
    case endsNoFetch = "P7"
    /// P8: pages leave out deletions.
    case hidesDeletions = "P8"

    /// Q1: an index does not follow its records.
    case leavesIndexBehind = "Q1"
    /// Q2: the observer of a query is not handed an update.
    case missesUpdates = "Q2"
    /// Q3: a fetch takes what is here already for a change.
    case repeatsNotifications = "Q3"

    /// P5: an atomic request is served in two parts.
    case splitsBatches = "P5"
    /// P9: whoever leaves a share is told so, and stays in it.
    case keepsLeavers = "P9"
    /// P10: what no push told of is answered as if nothing had changed.
    case trustsPushes = "P10"
    /// P11: a token of history that the service lost is answered as if nothing had changed.
    case keepsLostTokens = "P11"
    /// A1: a byte of a download is another.
    case changesBytes = "A1"
    /// A2: who used an asset is not struck out when its record goes.
    case keepsUses = "A2"
    /// A3: the file does not say any more which assets are here.
    case forgetsAssets = "A3"
    /// D1: disks say that they have what they were given; seen where files are on disks.
    case lyingDisk = "D1"

    /// What a device is answered without a request; nil where it is served.
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

    /// A piece of an asset as the device gets it instead.
    func changed(piece: [UInt8]) -> [UInt8] {
        guard self == .changesBytes, let last = piece.last else { return piece }
        return piece.dropLast() + [last ^ 1]
    }

    /// A request as it is sent instead.
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

    /// An answer as the device gets it instead.
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

    /// What the device is answered where it was refused; nil where it stays so.
    func answer<Request>(
        insteadOf failure: ServiceFailure, to request: Request
    ) -> (any Sendable)? {
        guard self == .keepsLostTokens, failure.error.code == .changeTokenExpired,
            let changes = request as? ChangesDatabase.Request, let token = changes.syncToken
        else { return nil }
        return ChangesDatabase.Answer(zones: [], syncToken: token, moreComing: false)
    }

    /// A refusal as the device gets it instead.
    func changed(_ failure: ServiceFailure) -> ServiceFailure {
        guard self == .hidesLostHistory else { return failure }
        var failure = failure
        failure.error.lastIntactVersion = nil
        return failure
    }

    /// What the file forgets whenever a cache is opened on it.
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
        case .forgetsDeletedZones: "DELETE FROM flag WHERE name LIKE 'deletedGeneration/%'"
        case .keepsUses: "DROP TRIGGER IF EXISTS recordAssetsGone"
        case .forgetsAssets: "DELETE FROM asset"
        default: nil
        }
    }

    /// What happens to a file whose app declared its types, before its queries.
    var sqlBeforeQueries: String? {
        self == .leavesIndexBehind ? "DELETE FROM stratus_index_1" : nil
    }

    /// What happens to a file before everything is fetched once more, where nothing has changed.
    var sqlBeforeRefetch: String? {
        self == .repeatsNotifications ? "UPDATE record SET system = NULL" : nil
    }

    var resolver: (any ConflictResolver)? {
        self == .keepsServerRecords ? KeepsServer() : nil
    }
}

/// The resolver of S2.
private struct KeepsServer: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
}

import StratusClient
import StratusRecords
import StratusSync

/// The records that this version of the app cannot read, such as those with fields of a later form.
///
/// The state keeps their names (``EngineLedger/unreadable``), and the other records of their page are fetched. Each is
/// read again when it changes, and once by each new engine, whose app may be newer.
struct UnreadableRecords {
    /// The records that this engine could not read.
    var tried: Set<RecordID> = []
    /// The errors of zones that are not fetched to their end, perhaps because a page failed or the fetch was stopped.
    var errors: [ZoneID: [CKRecord.ID: CKError]] = [:]
}

/// Records that an earlier engine could not read.
struct RecordsReadAgain {
    var modifications: [CKDatabase.RecordZoneChange.Modification] = []
    var unreadable: [CKRecord.ID: CKError] = [:]
    /// The names of those that no longer exist.
    var missingNames: [String] = []

    /// Adds them to a page that was requested later: of what it has it is newer.
    func preceding(_ page: CKDatabase.OrderedZoneChanges) -> CKDatabase.OrderedZoneChanges {
        if modifications.isEmpty && unreadable.isEmpty { return page }
        var named = Set(page.modifications.map(\.record.recordID))
        named.formUnion(page.deletions.map(\.recordID))
        named.formUnion(page.unreadable.keys)
        var all = page
        all.modifications =
            modifications.filter { !named.contains($0.record.recordID) } + page.modifications
        for (id, error) in unreadable where !named.contains(id) { all.unreadable[id] = error }
        return all
    }
}

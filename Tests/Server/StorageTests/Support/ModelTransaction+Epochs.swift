import StratusStorage

/// Epochs as a list. The model has no identifiers, since each store draws its own.
extension ModelTransaction {
    var epoch: Epoch {
        model.epochs.last { $0.zone == nil }?.row.epoch ?? Epoch(number: 0, identifier: 0)
    }

    @discardableResult
    func beginEpoch() -> Epoch {
        let epoch = Epoch(number: epoch.number + 1, identifier: 0)
        add(epoch, of: nil, from: model.databaseVersion)
        model.isWritten = true
        return epoch
    }

    func beginFirstEpoch() {
        if !model.isWritten { beginEpoch() }
    }

    func noteEpoch(of zone: ZoneRow.Key, from version: Int64) {
        let isNoted = model.epochs.contains {
            $0.zone == zone && $0.row.epoch.number == epoch.number
        }
        if !isNoted { add(epoch, of: zone, from: version) }
    }

    private func add(_ epoch: Epoch, of zone: ZoneRow.Key?, from version: Int64) {
        let row = EpochRow(epoch: epoch, startVersion: version, startedMilliseconds: 0)
        model.epochs.append((zone, row))
    }

    func epochs(of zone: ZoneRow.Key?, before version: Int64, limit: Int) -> [EpochRow] {
        let rows = model.epochs.filter { $0.zone == zone && $0.row.startVersion < version }
        return rows.reversed().prefix(max(limit, 1)).map(\.row)
    }

    func epochs(of zone: ZoneRow.Key?, from number: Int64, limit: Int) -> [EpochRow] {
        let rows = model.epochs.filter { $0.zone == zone && $0.row.epoch.number >= number }
        return rows.prefix(max(limit, 1)).map(\.row)
    }

    /// No script calls it, since each store has its own times of epochs.
    func mergeEpochs(endedBefore milliseconds: Int64) -> Int { 0 }
}

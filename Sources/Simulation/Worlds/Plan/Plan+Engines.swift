import StratusTesting

/// Devices whose apps sync with a `CKSyncEngine`. Whether a world has them comes from a separate sequence of numbers.
extension Plan {
    /// Whether every second device syncs with an engine: only in worlds where apps do nothing that an engine's store
    /// leaves to the cache's own syncing, such as sharing and photos.
    var hasEngines: Bool {
        var numbers = SeededNumbers(seed: seed ^ 0x454E_4749)
        return numbers.below(2) == 0 && !hasSharing && !hasAccountSwitches && !hasRestores
            && !hasAppActions && !deletesEverything && newerRecords == nil && !hasAssets
            && !hasTransfers && !hasZoneDeletions && !hasLists && !hasNotebooks
            && !hasDirectSaves && !decidesByAncestor && !isOnFiles
    }

    func usesEngine(device number: Int) -> Bool { hasEngines && !number.isMultiple(of: 2) }
}

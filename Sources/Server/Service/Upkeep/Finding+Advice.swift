import StratusStorage

extension Finding {
    /// Whether ``Doctor/repair()`` rebuilds the rows, because they are derived from records.
    package var isRebuilt: Bool { recoveryAction == .rebuild }

    /// Whether the file itself is damaged, so that its rows are not reliable.
    var isDamage: Bool { recoveryAction == .restoreFile }

    /// Whether a row is damaged in a file that is otherwise intact.
    var isDamagedRow: Bool { recoveryAction == .dropRow }

    /// What to do about it, as a sentence.
    package var advice: String {
        switch recoveryAction {
        case .rebuild: "stratus doctor --repair rebuilds it from the records."
        case .dropRow:
            "Restore the file from a backup, or give the row up: stratus doctor --repair"
                + " --drop-damaged"
        case .restoreFile: "Restore the file from a backup."
        case .moveFile: "Move the file out of the folder."
        case .saveAgain:
            "Nothing rebuilds data of this kind: save the record again, or restore the file from a"
                + " backup."
        }
    }
}

import StratusStorage

extension Finding {
    /// Whether ``Doctor/repair()`` rebuilds the rows, because they are derived from records.
    package var isRebuilt: Bool { Self.rebuilt.contains(invariant) }

    /// Whether the file itself is damaged, so that its rows are not reliable.
    var isDamage: Bool { Self.damage.contains(invariant) }

    /// Whether a row is damaged in a file that is otherwise intact.
    var isDamagedRow: Bool {
        invariant == "A row has the checksum that was computed when it was written."
    }

    /// What to do about it, as a sentence.
    package var advice: String {
        if isRebuilt {
            return "stratus doctor --repair rebuilds it from the records."
        }
        if isDamagedRow {
            return "Restore the file from a backup, or give the row up: stratus doctor --repair"
                + " --drop-damaged"
        }
        if isDamage { return "Restore the file from a backup." }
        if invariant == "The folder contains only Stratus's files." {
            return "Move it out of the folder."
        }
        return
            "Nothing rebuilds data of this kind: save the record again, or restore the file from a"
            + " backup."
    }

    private static let damage: Set = [
        "A file can be opened.", "A file can be read.", "A file's pages and indexes are whole.",
    ]

    private static let rebuilt: Set = [
        "A database counts the bytes of its records.",
        "A share has its record.",
        "A root that a record names as shared has a share.",
        "Access belongs to a share.",
        "A record that has a reference with an action exists.",
        "A reference with an action is found by its target.",
        "A replaced state was replaced at a version that its zone has reached.",
        "An asset is held by as many records as are counted.",
        "A record that holds an asset exists, and so does the asset.",
        "The size of all assets is their sum.",
        "An entry of an index belongs to a record of its type.",
        "An index has the entries of each record.",
        "An index has no entries beside those of records.",
        "A record is found by its type, once the index of its names is built.",
    ]
}

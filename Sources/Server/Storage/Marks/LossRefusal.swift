/// Why a file that SQLite could open is refused: acknowledged commits are missing.
struct LossRefusal: Error, Hashable, Sendable {
    enum Reason: Hashable, Sendable {
        /// The database has fewer commits than its mark.
        case behind(acknowledged: UInt64, found: UInt64)
        /// There is no file, or an empty one. For a directory without a mark the number is not
        /// known.
        case missing(acknowledged: UInt64?)
        /// The file holds another database, by its own identity.
        case otherAddress(found: String, expected: String)
        /// A file with the right address, but not the one that the mark belongs to.
        case replaced
        /// The mark cannot be read.
        case damagedMark
    }

    var reason: Reason

    init(_ reason: Reason) {
        self.reason = reason
    }

    /// What happened and what to do, for the file at a path.
    func sentence(path: String) -> String {
        finding(path: path)
            + " Restore the file from a backup, or continue with its present state: "
            + "stratus doctor --accept-loss '\(path)'"
    }

    func finding(path: String) -> String {
        switch reason {
        case .behind(let acknowledged, let found):
            let count = acknowledged - min(found, acknowledged)
            return "The database has \(count) commits fewer than were acknowledged."
        case .missing(let acknowledged?):
            return "The database is missing or empty, and \(acknowledged) commits of it were "
                + "acknowledged."
        case .missing(nil):
            return "The directory is missing or empty, and there are databases beside it."
        case .otherAddress(let found, let expected):
            return "The file holds the database \(found), and \(expected) belongs here."
        case .replaced:
            return "The file is not the one whose commits were acknowledged: it was created again, "
                + "or comes from another data folder."
        case .damagedMark:
            return "The file \(HighWaterMark.path(ofDatabase: path)) is damaged: it is unknown "
                + "whether the database has all that was acknowledged."
        }
    }
}

extension StorageError {
    init(_ refusal: LossRefusal, path: String) {
        self.init(.corrupt, refusal.sentence(path: path), path: path, underlying: refusal)
    }
}

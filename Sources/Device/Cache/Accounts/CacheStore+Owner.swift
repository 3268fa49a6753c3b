import GRDB
import StratusClient
import StratusSync

/// The user of the file.
///
/// SQLite does not notice a flipped byte in a value. In most rows the next fetch corrects it. The name of the user
/// decides whether the file is synced at all, so it is stored twice.
extension CacheStore {
    /// Sets the file's user, if it has none yet.
    ///
    /// - Returns: whether the file belongs to this user.
    /// - Throws: a damage error when the stored name was altered; `notAuthenticated` when this process syncs for them
    ///   and they have signed out of the file since.
    func claim(for userRecordName: String) throws -> Bool {
        let isOwner: Bool? = try read { database in
            guard try flag(CacheFlag.userCheck, database) != nil else { return nil }
            return try owner(database) == userRecordName
        }
        let isClaimed = try isOwner ?? setOwner(userRecordName)
        if isClaimed { syncedUser.withLock { $0 = userRecordName } }
        return isClaimed
    }

    /// Whether the file belongs to this user, or has no user yet. It sets none, unlike ``claim(for:)``: a request for
    /// single records or files may still run while the user signs out of the file, which must not become theirs again.
    ///
    /// - Throws: as ``claim(for:)``.
    func isOpen(to userRecordName: String) throws -> Bool {
        try read { database in
            try checkUser(database)
            guard let owner = try owner(database) else {
                return try flag(CacheFlag.isMadeByNobody, database) == nil
            }
            return owner == userRecordName
        }
    }

    /// Sets the file's user to the one who has signed out, if the file has something of theirs and no user yet.
    func claim(forFormer userRecordName: String) throws {
        let hasContent = try read { database in
            try Bool.fetchOne(
                database,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM zone) OR EXISTS (SELECT 1 FROM record)
                        OR EXISTS (SELECT 1 FROM pending)
                    """) ?? false
        }
        if hasContent { _ = try claim(for: userRecordName) }
    }

    private func setOwner(_ userRecordName: String) throws -> Bool {
        try file.write { database in
            // Another process may have set the user first; the file of an earlier version has a
            // user without a check.
            let owner = try owner(database)
            if owner == nil {
                guard try flag(CacheFlag.isMadeByNobody, database) == nil else { return false }
                if userRecordName == syncedUser.withLock({ $0 }) { try checkUser(database) }
                try setFlag(CacheFlag.userRecordName, userRecordName, database)
            }
            let name = owner ?? userRecordName
            try setFlag(CacheFlag.userCheck, OwnerCheck(name).text, database)
            return name == userRecordName
        }
    }

    /// Refuses to store an answer to the user for whom this process syncs if another process has signed them out of the
    /// file since: removed data would return and block the next user. Syncing halts until it is started again or a user
    /// signs in.
    func checkUser(_ database: Database) throws {
        guard let user = syncedUser.withLock({ $0 }),
            try flag(CacheFlag.userRecordName, database) != user
        else { return }
        throw SyncFailure(
            .notAuthenticated,
            message: "The user signed out of this file in another process. Start syncing again.")
    }

    /// Lets the next user who is signed in claim the file, if it has no user.
    func forgetUser() { syncedUser.withLock { $0 = nil } }

    func owner(_ database: Database) throws -> String? {
        let name = try flag(CacheFlag.userRecordName, database)
        guard let text = try flag(CacheFlag.userCheck, database) else { return name }
        guard let name, OwnerCheck(name).text == text else {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT,
                message: "The name of the user to whom the file belongs is damaged.")
        }
        return name
    }
}

/// The check stored beside the name of the file's user: its digest, and a second copy of the name.
struct OwnerCheck {
    let name: String

    init(_ name: String) { self.name = name }

    /// The name in a text of the file; nil when the text was damaged.
    init?(text: String) {
        guard let space = text.firstIndex(of: " ") else { return nil }
        self.init(String(text[text.index(after: space)...]))
        guard self.text == text else { return nil }
    }

    var text: String { "\(NameHash.of(name)) \(name)" }

    /// The user of a damaged file: taken from the text that is undamaged.
    static func owner(name: String?, check: String?) -> String? {
        check.flatMap { OwnerCheck(text: $0) }?.name ?? name
    }
}

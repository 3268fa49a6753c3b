import GRDB
import StratusClient
import StratusSync

/// The user of the file.
///
/// SQLite does not notice a flipped byte in a value. In most rows the next fetch puts it right;
/// the name of the user decides whether the file is synced at all, so it is stored twice.
extension CacheStore {
    /// Sets the file's user, if it has none yet.
    ///
    /// - Returns: whether the file belongs to this user.
    /// - Throws: an error of damage when the stored name is not what was stored; `notAuthenticated` when this process syncs
    ///   for them and they signed out of the file since.
    func claim(for userRecordName: String) throws -> Bool {
        let isOwner: Bool? = try read { database in
            guard try flag(CacheFlag.userCheck, database) != nil else { return nil }
            return try owner(database) == userRecordName
        }
        let isClaimed = try isOwner ?? setOwner(userRecordName)
        if isClaimed { syncedUser.withLock { $0 = userRecordName } }
        return isClaimed
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

    /// Refuses to store an answer to the user whom this process syncs for when they have signed out of the file since, in
    /// another process: what was removed would be here again, in the way of the next user. Syncing halts, until it is
    /// started again or somebody signs in.
    func checkUser(_ database: Database) throws {
        guard let user = syncedUser.withLock({ $0 }),
            try flag(CacheFlag.userRecordName, database) != user
        else { return }
        throw SyncFailure(
            .notAuthenticated,
            message: "The user signed out of this file in another process. Start syncing again.")
    }

    /// Lets whoever is signed in have the file, if it has no user.
    func forgetUser() { syncedUser.withLock { $0 = nil } }

    private func owner(_ database: Database) throws -> String? {
        let name = try flag(CacheFlag.userRecordName, database)
        guard let text = try flag(CacheFlag.userCheck, database) else { return name }
        guard let name, OwnerCheck(name).text == text else {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "The name of the file's user is damaged.")
        }
        return name
    }
}

/// What is stored beside the name of the file's user: its digest, and the name once more.
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

    /// The user of a damaged file: of the two texts the one that is whole.
    static func owner(name: String?, check: String?) -> String? {
        check.flatMap { OwnerCheck(text: $0) }?.name ?? name
    }
}

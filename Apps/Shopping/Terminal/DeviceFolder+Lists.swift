import AppDevice
import Foundation
import StratusCache

/// Which file has which user's lists.
extension DeviceFolder {
    /// Earlier releases, whose files were not named after the user, kept the lists of every token in this one.
    private var formerPath: String { path + "/lists-signed-in.sqlite" }
    /// The file of lists that have no account yet.
    private var ownerlessPath: String { path + "/lists.sqlite" }

    private func path(of owner: AccountOwner) -> String {
        switch owner {
        case .nobody: ownerlessPath
        case .developmentUser(let name): path + "/lists-user-\(LockedFolder.fileName(name)).sqlite"
        case .user(let recordName):
            path + "/lists-account-\(LockedFolder.fileName(recordName)).sqlite"
        }
    }

    /// The file of a user's lists, which only they can read; created if it does not exist.
    ///
    /// A user without a file gets the one that an earlier release kept for them, if it was synced with their account.
    func listsPath(of owner: AccountOwner) throws(Failure) -> String {
        let own = path(of: owner)
        if !FileManager.default.fileExists(atPath: own), case .user(let recordName) = owner,
            formerOwner == recordName
        {
            // Writes the log into the file, so that nothing is missing if the process is stopped
            // between the renames. The log itself is renamed too if this fails.
            try? CloudCache.emptyLog(ofFileAt: formerPath)
            try move(formerPath, to: own)
        }
        // SQLite gives its log the mode of the file.
        let descriptor = open(own, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
            throw Failure(
                description: "The file \(own) cannot be written; make it and its folder writable.")
        }
        close(descriptor)
        return own
    }

    /// Whether there is a file of lists that have no account yet.
    var hasOwnerlessLists: Bool { FileManager.default.fileExists(atPath: ownerlessPath) }

    /// Removes that file and the files beside it, once an account has the lists.
    func removeOwnerlessLists() {
        for ending in ["", "-wal", "-shm", "-lock", "-assets"] {
            // A file that stays is adopted again, which adds nothing.
            try? FileManager.default.removeItem(atPath: ownerlessPath + ending)
        }
    }

    /// A notice about lists of an earlier release that ``listsPath(of:)`` did not take over; nil when there
    /// are none.
    func formerListsNotice() -> String? {
        guard FileManager.default.fileExists(atPath: formerPath) else { return nil }
        return """
            The file \(formerPath) is from an earlier version and keeps lists that are not known to be \
            yours. It is left as it is. Sign in with the account that made it to see them; if they are \
            yours and were never synced, move it into an empty folder under the name lists.sqlite and \
            start shopping with --data and that folder.
            """
    }

    /// The user that the former file was synced with.
    private var formerOwner: String? {
        guard FileManager.default.fileExists(atPath: formerPath) else { return nil }
        // A file whose owner cannot be read is left alone, and the notice mentions it.
        return try? CloudCache.userRecordName(ofFileAt: formerPath)
    }

    private func move(_ former: String, to own: String) throws(Failure) {
        let files = FileManager.default
        guard files.fileExists(atPath: former) else { return }
        do {
            // The log first, which a killed app may have left: without it, the file would be an older one.
            for ending in ["-wal", "-shm", ""] where files.fileExists(atPath: former + ending) {
                try files.moveItem(atPath: former + ending, toPath: own + ending)
                try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: own + ending)
            }
        } catch {
            throw Failure(
                description:
                    "The lists in \(former) cannot be moved to your account; make the folder "
                    + "\(path) writable.")
        }
    }
}

import Foundation

/// The rights of what this device keeps: its user's alone, whatever the umask of the process.
///
/// A folder is 0700 and a file 0600. What an earlier release, or a person, left open to others is
/// closed to them and used: it is the user's own, and refusing it would help nobody. Only the file of a
/// key is refused, by ``FileKeyStore``: whether somebody has read it the user must decide.
package enum DeviceFile {
    private static let fileMode: mode_t = 0o600
    private static let folderMode: mode_t = 0o700
    private static let stickyBit: mode_t = 0o1000

    /// Takes the rights of others from a file or a folder; leaves alone what is not there, what is
    /// another user's, and folders that are not for this alone: the person's own and such as /tmp.
    package static func tighten(_ path: String, isFolder: Bool = false) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFLNK,
            status.st_mode & 0o077 != 0, status.st_uid == geteuid()
        else { return }
        if isFolder, status.st_mode & Self.stickyBit != 0 || path == NSHomeDirectory() { return }
        // It is ours, so that this fails on a read-only file system alone, where nothing changes.
        _ = chmod(path, isFolder ? folderMode : fileMode)
    }

    /// Makes an empty file that is its user's alone, unless there is one.
    package static func make(_ path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, fileMode)
        // Why it cannot be made the next use of the path tells.
        if descriptor >= 0 { close(descriptor) }
    }
}

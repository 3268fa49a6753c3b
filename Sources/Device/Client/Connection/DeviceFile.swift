import Foundation

/// The access rights of files that this device keeps: for its user alone, regardless of the
/// process's umask.
///
/// A folder is 0700 and a file 0600. A file or folder that an earlier release or a person left open
/// to others is restricted and then used: it belongs to the user, and refusing it would not help.
/// Only ``FileKeyStore`` refuses the file of a key that was open: the user must decide whether
/// someone may have read it.
package enum DeviceFile {
    private static let fileMode: mode_t = 0o600
    private static let folderMode: mode_t = 0o700
    private static let stickyBit: mode_t = 0o1000

    /// Removes the rights of other users from a file or folder. Missing paths, other users' files,
    /// and folders with other uses, such as the home folder and /tmp, stay unchanged.
    package static func tighten(_ path: String, isFolder: Bool = false) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFLNK,
            status.st_mode & 0o077 != 0, status.st_uid == geteuid()
        else { return }
        if isFolder, status.st_mode & Self.stickyBit != 0 || path == NSHomeDirectory() { return }
        // The path belongs to this user, so chmod fails only on a read-only file system, where
        // nothing is written.
        _ = chmod(path, isFolder ? folderMode : fileMode)
    }

    /// Creates an empty file that only its user can access, unless the file exists.
    package static func make(_ path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, fileMode)
        // If the file cannot be created, the next use of the path reports why.
        if descriptor >= 0 { close(descriptor) }
    }
}

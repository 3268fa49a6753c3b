import Foundation

extension Data {
    /// Replaces a file in one step; only its owner may read it. After a crash or a loss of power
    /// either the old or the new file exists.
    package func writePrivately(to path: String) throws {
        let draft = path + ".new"
        let descriptor = open(draft, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError.ofLastCall }
        do {
            // A draft that a killed app left may have any mode.
            guard fchmod(descriptor, 0o600) == 0 else { throw POSIXError.ofLastCall }
            try write(to: descriptor)
            guard fsync(descriptor) == 0 else { throw POSIXError.ofLastCall }
            close(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        guard rename(draft, path) == 0 else { throw POSIXError.ofLastCall }
    }

    private func write(to descriptor: Int32) throws {
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        try file.write(contentsOf: self)
    }
}

extension POSIXError {
    fileprivate static var ofLastCall: POSIXError {
        POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}

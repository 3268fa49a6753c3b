import Foundation

/// The open descriptors of this process whose files have this name at the beginning; none where the system
/// does not list them.
func openDescriptors(of path: String) throws -> [String] {
    let folder = "/proc/self/fd"
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { number in
        // Another test may close a descriptor between the list and the look.
        let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: folder + "/" + number)
        return target.flatMap { $0.contains(path) ? $0 : nil }
    }
}

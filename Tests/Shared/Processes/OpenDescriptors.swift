import Foundation

/// This process's open descriptors whose files have this name in their path, with the paths; empty if
/// the system does not list them.
package func openDescriptors(of path: String) throws -> [Int32: String] {
    let folder = "/proc/self/fd"
    guard FileManager.default.fileExists(atPath: folder) else { return [:] }
    var found: [Int32: String] = [:]
    for number in try FileManager.default.contentsOfDirectory(atPath: folder) {
        // Another test may close a descriptor after the listing.
        let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: folder + "/" + number)
        guard let target, target.contains(path), let descriptor = Int32(number) else { continue }
        found[descriptor] = target
    }
    return found
}

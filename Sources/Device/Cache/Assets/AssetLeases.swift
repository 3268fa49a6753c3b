import Foundation
import Synchronization

/// The leases of the files in a folder of assets. All caches of this process with the folder share them, so that none
/// removes a file that is used through another one.
final class AssetLeases: Sendable {
    private struct State {
        /// The number of leases of each file, by its name.
        var counts: [String: Int] = [:]
        /// The caches that would have removed a file, were it not leased, by the file's name.
        var keepers: [String: Set<ObjectIdentifier>] = [:]
        /// The bodies of ``whenReleased(for:_:)``, by cache.
        var released: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private struct Open: Sendable {
        weak let leases: AssetLeases?
    }

    private static let open = Mutex<[String: Open]>([:])

    private let state = Mutex(State())

    /// The leases of the files in a folder, which need not exist yet.
    static func of(_ folder: String) -> AssetLeases {
        let url = URL(fileURLWithPath: folder)
        let path = url.deletingLastPathComponent().resolvingSymlinksInPath()
            .appendingPathComponent(url.lastPathComponent).path
        return open.withLock { open in
            if let leases = open[path]?.leases { return leases }
            let leases = AssetLeases()
            open = open.filter { $0.value.leases != nil }
            open[path] = Open(leases: leases)
            return leases
        }
    }

    /// Sets a body that runs whenever the last lease of a file has ended that a cache did not remove because of it.
    func whenReleased(for cache: ObjectIdentifier, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.released[cache] = body }
    }

    /// Notes the end of a cache.
    func forget(_ cache: ObjectIdentifier) {
        state.withLock { $0.released[cache] = nil }
    }

    fileprivate func begin(_ file: String) {
        state.withLock { $0.counts[file, default: 0] += 1 }
    }

    fileprivate func end(_ file: String) {
        let bodies = state.withLock { state -> [@Sendable () -> Void] in
            state.counts[file, default: 1] -= 1
            guard state.counts[file] == 0 else { return [] }
            state.counts[file] = nil
            let keepers = state.keepers.removeValue(forKey: file) ?? []
            return keepers.compactMap { state.released[$0] }
        }
        for body in bodies { body() }
    }

    /// Whether a file that a cache is to remove is leased: then the body of ``whenReleased(for:_:)`` runs when it no
    /// longer is.
    func isKept(_ file: String, by cache: ObjectIdentifier) -> Bool {
        !ifFree(file, for: cache) { true }
    }

    /// Runs a body unless a file is leased; then the body of ``whenReleased(for:_:)`` runs when it no longer is.
    ///
    /// - Returns: what the body returns; false if the file is leased.
    func ifFree(_ file: String, for cache: ObjectIdentifier, _ body: () -> Bool) -> Bool {
        state.withLock { state in
            guard state.counts[file] != nil else { return body() }
            state.keepers[file, default: []].insert(cache)
            return false
        }
    }
}

/// Keeps a file of a folder of assets while it is held.
final class AssetLease: Sendable {
    private let file: String
    private let leases: AssetLeases

    init(_ file: String, of leases: AssetLeases) {
        self.file = file
        self.leases = leases
        leases.begin(file)
    }

    deinit { leases.end(file) }
}

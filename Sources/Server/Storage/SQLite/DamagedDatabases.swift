import Foundation
import StratusRecords

/// The databases that are refused because their own files are damaged, and when each is tried again: immediately when
/// its file has changed, otherwise after a while.
struct DamagedDatabases {
    /// The system's data about a database's files, which change when a file is repaired or replaced.
    struct Files: Hashable, Sendable {
        private var states: [[Int64]] = []

        init() {}

        /// - Parameter path: The file; its write-ahead log and its high-water mark are compared too.
        init(at path: String) {
            states = [path, path + "-wal", HighWaterMark.path(ofDatabase: path)].map { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return [] }
                #if canImport(Darwin)
                    let changed = status.st_ctimespec
                #else
                    let changed = status.st_ctim
                #endif
                return [
                    Int64(status.st_ino), Int64(status.st_size), Int64(changed.tv_sec),
                    Int64(changed.tv_nsec),
                ]
            }
        }
    }

    private struct Damage {
        var error: StorageError
        /// Nil while the file is still open: it is not tried again before it is closed.
        var files: Files?
        var triedAtSeconds: Double
        var pauseSeconds: Double
        var isTrying = false
    }

    /// How many seconds pass before an unchanged file is tried again; more if checking it took long.
    static let pauseSeconds: Double = 5
    /// The pause for each second that checking a damaged file takes.
    private static let pausePerWork: Double = 20

    private var damages: [DatabaseAddress: Damage] = [:]

    var count: Int { damages.count }

    /// Whether a database was found damaged and is not repaired yet.
    func contains(_ address: DatabaseAddress) -> Bool { damages[address] != nil }

    /// Why a database is refused now; nil when the caller should try it.
    mutating func refusal(
        of address: DatabaseAddress, files: Files, atSeconds now: Double
    ) -> StorageError? {
        guard var damage = damages[address] else { return nil }
        let isDue =
            now - damage.triedAtSeconds >= damage.pauseSeconds || damage.files != files
        guard !damage.isTrying, damage.files != nil, isDue else { return damage.error }
        damage.isTrying = true
        damage.triedAtSeconds = now
        damages[address] = damage
        return nil
    }

    /// Notes that a database is damaged.
    ///
    /// - Returns: Whether the error is new and should be reported.
    mutating func note(
        _ error: StorageError, of address: DatabaseAddress, files: Files?, atSeconds now: Double
    ) -> Bool {
        let known = damages[address]
        let work = known.map { $0.isTrying ? now - $0.triedAtSeconds : 0 } ?? 0
        damages[address] = Damage(
            error: error, files: files, triedAtSeconds: now,
            pauseSeconds: max(Self.pauseSeconds, work * Self.pausePerWork))
        return known?.error.message != error.message
    }

    /// Notes that a damaged database was closed: from now on only others change its files.
    mutating func noteClosed(_ address: DatabaseAddress, files: Files) {
        damages[address]?.files = files
    }

    /// Notes that a try ended without a result, as when too many files are open.
    mutating func giveUpTry(of address: DatabaseAddress) {
        damages[address]?.isTrying = false
    }

    /// Notes that a database is intact.
    ///
    /// - Returns: Whether it was damaged before.
    mutating func noteWell(_ address: DatabaseAddress) -> Bool {
        damages.removeValue(forKey: address) != nil
    }
}

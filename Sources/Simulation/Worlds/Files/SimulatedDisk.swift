import FaultFiles
import Foundation
import StratusTesting

/// A folder of databases on a disk that keeps unsynchronised writes apart, and decides what remains of them when a
/// process ends.
///
/// Each process has its own folder, which begins with what the previous process left; a process that has ended
/// without knowing it writes to a folder that is no longer read. Only SQLite's files are lost or torn; others, such
/// as the service's marks, stay as they were at that moment.
///
/// `@unchecked`: the C side has a lock of its own, and everything else is done on the world's one thread.
final class SimulatedDisk: @unchecked Sendable {
    /// How a process ends.
    enum End: Hashable, Sendable {
        /// The system continues, and writes everything that it was given.
        case killed
        /// Everything that was not synchronised is lost.
        case powerCut
        /// As ``powerCut``, but each unsynchronised write may have reached the disk, completely or in part.
        case tornPowerCut
    }

    /// A closure that waits for an operation on the files.
    private final class Appointment {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    private let root: String
    private let lies: Bool
    private var generation = 0
    private var snapshotCount = 0
    private var folder: OpaquePointer
    private var numbers: SeededNumbers
    private var appointment: Appointment?
    /// An error that could not be thrown where it occurred.
    private(set) var trouble: (any Error)?

    /// The folder of the current process.
    var path: String { "\(root)/\(generation)" }

    /// - Parameter lies: whether the disk falsely confirms that data is synchronised.
    init(_ root: String, seed: UInt64, lies: Bool) throws {
        self.root = root
        self.lies = lies
        numbers = SeededNumbers(seed: seed)
        try Self.makeFolder(root + "/0")
        folder = fault_folder_begin(root + "/0")
        if lies { fault_folder_ignore_syncs(folder, 1) }
    }

    deinit { fault_folder_end(folder) }

    private static func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    // MARK: Ends

    /// Ends the process now.
    func end(_ end: End) throws {
        let (old, next) = (path, "\(root)/\(generation + 1)")
        try Self.makeFolder(next)
        let names = try FileManager.default.subpathsOfDirectory(atPath: old).sorted()
        // The log's index is memory that processes share.
        for name in names where !name.hasSuffix("-shm") {
            // A database that this process did not open is completely on the disk.
            if end != .killed, fault_folder_knows(folder, old + "/" + name) != 0 { continue }
            try Self.copy(old + "/" + name, to: next + "/" + name)
        }
        if end != .killed {
            for (name, bytes) in synchronised(tears: end == .tornPowerCut) {
                let file = next + name.dropFirst(old.utf8.count)
                _ = FileManager.default.createFile(
                    atPath: file, contents: bytes, attributes: [.posixPermissions: 0o600])
            }
        }
        begin()
    }

    /// Begins a process with the content of the next folder.
    private func begin() {
        fault_folder_end(folder)
        generation += 1
        appointment = nil
        folder = fault_folder_begin(path)
        if lies { fault_folder_ignore_syncs(folder, 1) }
    }

    // MARK: Snapshots

    /// Copies the current content of the folder, like a snapshot of the file system.
    ///
    /// - Returns: the folder of the snapshot.
    func takeSnapshot() throws -> String {
        snapshotCount += 1
        let snapshot = "\(root)/snapshot \(snapshotCount)"
        try copyFolder(path, to: snapshot)
        return snapshot
    }

    /// Ends the process, and replaces what it left by a snapshot.
    func restore(_ snapshot: String) throws {
        try copyFolder(snapshot, to: "\(root)/\(generation + 1)")
        begin()
    }

    private func copyFolder(_ folder: String, to copy: String) throws {
        try Self.makeFolder(copy)
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
        where !name.hasSuffix("-shm") {
            try Self.copy(folder + "/" + name, to: copy + "/" + name)
        }
    }

    private static func copy(_ file: String, to copy: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else { return }
        if isFolder.boolValue { return try makeFolder(copy) }
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        // The service removes unused assets by the time of their files, which it sets by the world's clock.
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        if let date = attributes[.modificationDate] {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: copy)
        }
    }

    private func synchronised(tears: Bool) -> [(String, Data)] {
        final class Found { var files: [(String, Data)] = [] }
        let found = Found()
        fault_folder_cut(
            folder, tears ? fault_cut_tears : fault_cut_forgets, numbers.next(),
            Unmanaged.passUnretained(found).toOpaque()
        ) { context, path, bytes, count in
            guard let context, let path else { return }
            Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().files.append(
                (String(cString: path), bytes.map { Data(bytes: $0, count: count) } ?? Data()))
        }
        return found.files
    }

    /// Ends the process before one of its next writes or synchronisations.
    ///
    /// - Parameters:
    ///   - later: how many operations come before it.
    ///   - body: called when the process has ended.
    func end(_ end: End, later: Int, _ body: @escaping () -> Void) {
        let appointment = Appointment { [unowned self] in
            do {
                try self.end(end)
            } catch {
                self.trouble = error
            }
            body()
        }
        self.appointment = appointment
        fault_folder_interrupt(
            folder, fault_write.rawValue | fault_sync.rawValue, later,
            Unmanaged.passUnretained(appointment).toOpaque()
        ) { context in
            guard let context else { return }
            // Held until it has run: ending the process releases it.
            let appointment = Unmanaged<Appointment>.fromOpaque(context).takeUnretainedValue()
            withExtendedLifetime(appointment) { appointment.body() }
        }
    }

    // MARK: Room

    func isFull(_ isFull: Bool) {
        fault_folder_fail(folder, isFull ? fault_write.rawValue : 0, 0, fault_disk_full)
    }

    /// Ends all faults.
    func endTrouble() {
        isFull(false)
        fault_folder_interrupt(folder, 0, 0, nil, nil)
        appointment = nil
    }
}

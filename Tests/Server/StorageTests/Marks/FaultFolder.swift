import FaultFiles
import Foundation
import StratusTesting

@testable import StratusStorage

/// A data folder on a simulated disk that can fail and loses some or all unsynchronised writes: SQLite's unsynchronised
/// writes are kept separately.
///
/// `@unchecked`: the C side has a lock of its own.
final class FaultFolder: @unchecked Sendable {
    let path: String
    private let folder: OpaquePointer

    /// Must be created before the engine, which opens its files in the folder.
    init(_ path: String) {
        self.path = path
        folder = fault_folder_begin(path)
    }

    deinit {
        fault_folder_end(folder)
    }

    /// Makes operations fail, after so many that succeed.
    func fail(_ kinds: [fault_kind], after count: Int, _ error: fault_error = fault_io_error) {
        fault_folder_fail(folder, kinds.reduce(0) { $0 | $1.rawValue }, count, error)
    }

    func failNoMore() {
        fault_folder_fail(folder, 0, 0, fault_io_error)
    }

    /// Makes the disk falsely confirm that data is synchronised.
    func ignoreSyncs() {
        fault_folder_ignore_syncs(folder, 1)
    }

    /// Calls `body` once, before the operation that comes after so many others.
    func interrupt(_ kinds: [fault_kind], after count: Int, _ body: @escaping () -> Void) {
        final class Appointment {
            let body: () -> Void
            init(_ body: @escaping () -> Void) { self.body = body }
        }
        fault_folder_interrupt(
            folder, kinds.reduce(0) { $0 | $1.rawValue }, count,
            Unmanaged.passRetained(Appointment(body)).toOpaque()
        ) { context in
            guard let context else { return }
            // It is called at most once.
            Unmanaged<Appointment>.fromOpaque(context).takeRetainedValue().body()
        }
    }

    func interruptNoMore() {
        fault_folder_interrupt(folder, 0, 0, nil, nil)
    }

    func count(_ kinds: [fault_kind]) -> Int {
        fault_folder_count(folder, kinds.reduce(0) { $0 | $1.rawValue })
    }

    /// The number of statements that were run so far, including those that set up a connection.
    var statements: Int { fault_folder_statements(folder) }

    enum Marks: CaseIterable, Sendable {
        /// As if the mapped pages had reached the disk.
        case newest
        case oldest
        case random
    }

    /// Copies to another folder what a process that is killed now would leave: everything that it wrote.
    func kill(to copy: String) throws {
        let manager = FileManager.default
        try manager.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try manager.subpathsOfDirectory(atPath: path).sorted()
        // The log's index is memory that processes share.
        where !name.hasSuffix("-shm") {
            var isFolder: ObjCBool = false
            guard manager.fileExists(atPath: path + "/" + name, isDirectory: &isFolder) else {
                continue
            }
            if isFolder.boolValue {
                try manager.createDirectory(
                    atPath: copy + "/" + name, withIntermediateDirectories: true)
            } else {
                try manager.copyItem(atPath: path + "/" + name, toPath: copy + "/" + name)
            }
        }
        try makePrivate(copy)
    }

    /// Copies to another folder what a power cut would leave now, with the marks unchanged.
    func cut(to copy: String, _ cut: fault_cut) throws {
        var random = SeededNumbers(seed: 1)
        try FileManager.default.createDirectory(
            atPath: copy, withIntermediateDirectories: true)
        try self.cut(to: copy, cut, marks: .newest, random: &random)
    }

    /// Copies to another folder what a power cut would leave now.
    func cut(
        to copy: String, _ cut: fault_cut, marks: Marks, random: inout SeededNumbers
    ) throws {
        // The marks first, so that later saves are above them, as on a disk.
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        var others: [String: Data] = [:]
        for name in names where name == "format" || name.hasSuffix(".mark") {
            others[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        for name in names where !name.contains(".") || name.hasPrefix("databases") {
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isFolder),
                isFolder.boolValue
            {
                try FileManager.default.createDirectory(
                    atPath: copy + "/" + name, withIntermediateDirectories: true)
            }
        }
        for (name, bytes) in others {
            let kept = name.hasSuffix(".mark") ? Self.mark(bytes, marks, &random) : bytes
            try kept.write(to: URL(fileURLWithPath: copy + "/" + name))
        }
        for (file, bytes) in files(cut, seed: random.next()) {
            try bytes.write(to: URL(fileURLWithPath: copy + file.dropFirst(path.utf8.count)))
        }
        try makePrivate(copy)
    }

    /// The mark's first commit was synchronised; after it, any number up to the newest may be on the disk.
    private static func mark(_ bytes: Data, _ marks: Marks, _ random: inout SeededNumbers) -> Data {
        guard bytes.count >= 32 else { return bytes }
        var bytes = bytes
        let newest = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[24 + $1]) << (8 * $1) }
        let oldest = min(newest, 1)
        let kept =
            switch marks {
            case .newest: newest
            case .oldest: oldest
            case .random: UInt64.random(in: oldest...newest, using: &random)
            }
        for index in 0..<8 { bytes[24 + index] = UInt8(truncatingIfNeeded: kept >> (8 * index)) }
        return bytes
    }

    private func files(_ cut: fault_cut, seed: UInt64) -> [String: Data] {
        final class Found { var files: [String: Data] = [:] }
        let found = Found()
        fault_folder_cut(folder, cut, seed, Unmanaged.passUnretained(found).toOpaque()) {
            context, path, bytes, count in
            guard let context, let path else { return }
            let found = Unmanaged<Found>.fromOpaque(context).takeUnretainedValue()
            found.files[String(cString: path)] =
                bytes.map { Data(bytes: $0, count: count) } ?? Data()
        }
        return found.files
    }
}

import ArgumentParser
import Foundation
import StratusSimulation

/// Worlds that run in a separate process, and its output so far.
final class Chunk {
    private let seed: UInt64
    private let count: Int
    private let process = Process()
    private let output = Pipe()
    private var bytes = Data()
    private(set) var isEnded = false

    /// Starts the process.
    init(_ seed: UInt64, _ count: Int, _ lane: Lane) throws {
        self.seed = seed
        self.count = count
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            .resolvingSymlinksInPath()
        process.arguments =
            ["chunk", "--seed", "\(seed)", "--worlds", "\(count)"] + lane.arguments
        process.environment = ProcessInfo.processInfo.environment.merging(StratusSim.oneHashing) {
            $1
        }
        process.standardOutput = output
        try process.run()
    }

    /// Waits until one more of them has ended, so that the next one can begin regardless of the others.
    static func waitForOne(of chunks: [Chunk]) throws {
        let open = chunks.filter { !$0.isEnded }
        var descriptors = open.map {
            pollfd(
                fd: $0.output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN),
                revents: 0)
        }
        while !open.isEmpty, !open.contains(where: \.isEnded) {
            guard poll(&descriptors, nfds_t(descriptors.count), -1) > 0 else {
                // A signal interrupted the wait.
                if errno == EINTR { continue }
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
            for (chunk, descriptor) in zip(open, descriptors) where descriptor.revents != 0 {
                chunk.readSome()
            }
        }
    }

    private func readSome() {
        let some = output.fileHandleForReading.availableData
        bytes += some
        guard some.isEmpty else { return }
        process.waitUntilExit()
        isEnded = true
    }

    /// The results of its worlds; if it ended before it could report them, one of its worlds has failed.
    func progress() -> Progress {
        // Output that cannot be read is incomplete.
        if let progress = try? JSONDecoder().decode(Progress.self, from: bytes) { return progress }
        var lost = Progress()
        lost.worlds = count
        lost.failed[seed] = [
            "the process that ran the \(count) worlds from this seed on ended with the status "
                + "\(process.terminationStatus) before it reported them"
        ]
        return lost
    }
}

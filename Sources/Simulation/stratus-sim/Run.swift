import ArgumentParser
import Foundation
import StratusRuntime
import StratusSimulation

extension StratusSim {
    struct Run: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run worlds from one seed on, and print which broke a promise.",
            discussion: """
                With --resume the counts are kept in a file, and the same command continues where it \
                stopped.
                """)

        /// Worlds in one process: many, since a process is slow at first.
        private static let worldsPerProcess = 400
        /// The same if the time is limited.
        private static let worldsPerProcessInLimitedTime = 40
        /// How often each pair of a fault and an operation must occur in a counted run.
        private static let timesOfEachPair = 500

        @Option(help: "The number of worlds.") var worlds = 1_000
        @Option(help: "Start no new worlds after this many seconds.") var seconds: Double?
        @Option(help: "The seed of the first world.") var seed: UInt64 = 1
        @Flag(help: "Draw the first seed at random, and print it.") var fresh = false
        @Option(help: "The number of processes at once.") var processes = 2
        @Option(help: "The file for the counts so far.") var resume: String?
        @OptionGroup var lane: Lane
        @Flag(help: "Stop at the first world that breaks a promise.") var first = false

        func run() throws {
            var progress = try read()
            let before = progress.seconds
            let began = World.live.uptimeSeconds()
            let start = fresh ? UInt64(World.live.random() * 900_000_000) + 1 : seed
            print("The first seed is \(start).")
            var next = progress.worlds
            var chunks: [Chunk] = []
            while true {
                let isOver = seconds.map { World.live.uptimeSeconds() - began > $0 } ?? false
                let isEnough = isOver || first && !progress.failed.isEmpty
                while !isEnough, next < worlds, chunks.filter({ !$0.isEnded }).count < processes {
                    let count = min(
                        seconds == nil
                            ? Self.worldsPerProcess : Self.worldsPerProcessInLimitedTime,
                        worlds - next)
                    chunks.append(try Chunk(start + UInt64(next), count, lane))
                    next += count
                }
                guard !chunks.isEmpty else { break }
                try Chunk.waitForOne(of: chunks)
                // In the order of their seeds: the file says how many of the first ones are done.
                while let done = chunks.first, done.isEnded {
                    progress.add(done.progress())
                    chunks.removeFirst()
                }
                progress.seconds = before + World.live.uptimeSeconds() - began
                try write(progress)
            }
            report(progress)
            if !progress.failed.isEmpty { throw ExitCode.failure }
        }

        private func read() throws -> Progress {
            guard let resume, FileManager.default.fileExists(atPath: resume) else {
                return Progress()
            }
            return try JSONDecoder().decode(
                Progress.self, from: Data(contentsOf: URL(fileURLWithPath: resume)))
        }

        private func write(_ progress: Progress) throws {
            guard let resume else { return }
            try JSONEncoder().encode(progress).write(
                to: URL(fileURLWithPath: resume), options: .atomic)
        }

        private func report(_ progress: Progress) {
            let table = FaultTable()
            table.add(progress.table)
            print(table.text)
            let scarce = table.scarcePairs(below: Self.timesOfEachPair)
            if !scarce.isEmpty {
                print(
                    "These faults occurred fewer than \(Self.timesOfEachPair) times with an operation;"
                        + " run more worlds to cover them:")
                for line in scarce { print("    " + line) }
            }
            for (seed, violations) in progress.failed.sorted(by: { $0.key < $1.key }) {
                print("seed \(seed): \(violations.prefix(3).joined(separator: "; "))")
                print(
                    "    to see it: stratus-sim replay \(seed)\(lane.suffix), or shortened:"
                        + " stratus-sim shrink \(seed)\(lane.suffix)")
            }
            let seconds = max(0.001, progress.seconds)
            print(
                "\(progress.worlds) worlds, \(progress.steps) steps, "
                    + "\(progress.requests) requests, \(progress.failed.count) failed, "
                    + "\(Int(progress.seconds)) s, "
                    + "\(String(format: "%.1f", Double(progress.worlds) / seconds)) worlds/s, "
                    + "\(Int(Double(progress.steps) / seconds)) steps/s")
        }
    }
}

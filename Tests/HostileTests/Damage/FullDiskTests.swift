import Foundation
import TestProcesses
import Testing

/// With a full disk, existing data is served, nothing is acknowledged without being stored, and no process ends.
@Suite struct FullDiskTests {
    /// Root in a container often may not mount.
    static let mayMount: Bool = {
        do {
            let mount = "mount -t tmpfs tmpfs /mnt"
            return try ChildProcess(
                ["/usr/bin/env", "unshare", "-m", "sh", "-c", mount], error: .nullDevice
            ).end() == 0
        } catch {
            // Without the program the disk cannot be mounted either.
            return false
        }
    }()

    /// The disk is mounted in a namespace of the service's process, so that it disappears with the process.
    @Test(.enabled(if: mayMount, "The small disk that this test fills may not be mounted here."))
    func fullDiskIsReadOnlyUntilSpaceIsFreed() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path + "/disk", withIntermediateDirectories: false)
        let script = """
            mount -t tmpfs -o size=40m,mode=700 tmpfs "$0/disk" && mkdir -m 700 "$0/disk/data" \
            && ln -s disk/data "$0/data" && dd if=/dev/zero of="$0/disk/filler" bs=1M count=12 \
            2>/dev/null || exit 1; exec "$@"
            """
        let instance = try DamageInstance(
            folder: folder.path, wrapper: ["unshare", "-m", "sh", "-c", script, folder.path])
        let alice = try DamageClient(instance, user: "alice")
        let bob = try DamageClient(instance, user: "bob")
        try #require(try bob.save(3, bytes: 300).status == 200)

        var acknowledged = 0
        var refused: DamageClient.Answer?
        for number in 0..<500 where refused == nil {
            let answer = try alice.save(1, bytes: 100_000, from: number)
            if answer.status == 200, answer.word == nil {
                acknowledged += 1
            } else {
                refused = answer
            }
        }
        #expect((10..<400).contains(acknowledged))
        #expect(refused?.status == 503, "\(String(describing: refused))")
        #expect(refused?.word == "TRY_AGAIN_LATER")
        #expect(refused?.code == 1_002)
        #expect(refused?.retryAfter != nil)
        #expect(refused?.reason?.contains("disk") == true)
        #expect(instance.isAlive)
        #expect(try DamageClient.health(of: instance).body["readOnly"] as? Bool == true)

        // Reads work, even of databases that are not open, and everything acknowledged is found.
        for first in stride(from: 0, to: acknowledged, by: 50) {
            let names = (first..<min(first + 50, acknowledged))
                .map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
            let answer = try alice.post(
                "records/lookup", #"{"desiredKeys":[],"records":[\#(names)]}"#)
            #expect(answer.status == 200 && answer.word == nil, "\(answer)")
        }
        #expect(try bob.look(for: 3).word == nil)
        // Deletions work, saves do not.
        for number in 0..<min(acknowledged, 50) {
            let answer = try alice.delete("r\(number)")
            #expect(answer.status == 200 && answer.word == nil, "\(number): \(answer)")
            #expect(try bob.save(1, bytes: 1_000, from: 10 + number).code == 1_002)
        }
        #expect(instance.isAlive)

        // When there is room again, it accepts saves without a restart.
        let filler = "/proc/\(instance.identifier)/root\(folder.path)/disk/filler"
        try #require(unlink(filler) == 0)
        var saved: DamageClient.Answer?
        for _ in 0..<1_000 where saved?.word != nil || saved?.status != 200 {
            saved = try bob.save(1, bytes: 1_000, from: 500)
            if saved?.word != nil { usleep(10_000) }
        }
        #expect(saved?.status == 200 && saved?.word == nil, "\(String(describing: saved))")
        #expect(try DamageClient.health(of: instance).body["status"] as? String == "ready")
        #expect(instance.log.count { $0.contains("read-only") } == 1, "\(instance.log)")
        #expect(instance.end() == 0)
    }
}

import Foundation
import Synchronization
import TestProcesses
import Testing

/// An acknowledged save survives the process.
@Suite struct DurabilityTests {
    /// Devices save one record after the other; once a thousand saves are acknowledged, the service is killed
    /// while others are in progress. Every acknowledged record must exist afterwards.
    @Test func killedServiceLosesNoAcknowledgedSave() async throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let owner = try Session(instance, user: "alice")
        try owner.createZone("Trips")
        let acknowledged = Acknowledged()
        await withTaskGroup(of: Void.self) { [identity = owner.identity] group in
            for device in 0..<8 {
                group.addTask {
                    Self.save(as: device, identity, acknowledged) { count in
                        if count == 1_000 { instance.kill() }
                    }
                }
            }
        }
        let names = acknowledged.names
        #expect(names.count >= 1_000)

        let restarted = try ServedInstance(dataFolder: folder.path)
        let session = try Session(restarted, user: "alice")
        #expect(session.identity.userRecordName == owner.identity.userRecordName)
        for start in stride(from: 0, to: names.count, by: 400) {
            let wanted = names[start..<min(start + 400, names.count)]
            let items = wanted.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
            let answer = try session.post(
                "records/lookup", #"{"zoneID":{"zoneName":"Trips"},"records":[\#(items)]}"#)
            #expect(answer.status == 200)
            #expect(try answer.errorCode() == nil)
        }
        #expect(restarted.terminate() == 0)
    }

    /// Saves until the connection breaks; records every acknowledged name.
    private static func save(
        as device: Int, _ owner: Identity, _ acknowledged: Acknowledged,
        _ onAcknowledged: (Int) -> Void
    ) {
        var identity = owner
        identity.device = "device-\(device)"
        // A refused or broken connection is the expected end.
        guard let session = try? Session(identity) else { return }
        for number in 0... {
            let name = "record-\(device)-\(number)"
            let body =
                #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
                + #"{"recordName":"\#(name)","recordType":"Hut","#
                + #""fields":{"number":{"value":\#(number)}}}}]}"#
            // The request during which the service is killed fails.
            guard let answer = try? session.post("records/modify", body), answer.status == 200
            else {
                return
            }
            onAcknowledged(acknowledged.add(name))
        }
    }
}

/// The names of records whose saves were acknowledged.
private final class Acknowledged: Sendable {
    private let list = Mutex<[String]>([])

    var names: [String] { list.withLock { $0 } }

    /// - Returns: how many there are.
    func add(_ name: String) -> Int {
        list.withLock {
            $0.append(name)
            return $0.count
        }
    }
}

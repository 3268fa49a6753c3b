import Foundation
import TestProcesses
import Testing

/// The service's memory does not depend on the size of assets.
@Suite struct LargeAssetTests {
    private static let megabyte = 1_000_000
    /// A gigabyte takes half a minute in a debug build.
    private static let largeBytes = 300 * megabyte

    #if os(Linux)
        @Test func memoryStaysFlatDuringLargeAssetTransfer() throws {
            let folder = try TemporaryFolder()
            let instance = try ServedInstance(
                dataFolder: folder.path,
                arguments: ["--dev", "--limit", "assetBytes=\(Self.largeBytes)"])
            let session = try Session(instance, user: "alice")
            try Self.transfer(10 * Self.megabyte, session, instance)
            let small = try Self.peakKilobytes(of: instance)
            let start = Date()
            try Self.transfer(Self.largeBytes, session, instance)
            let large = try Self.peakKilobytes(of: instance)
            print(
                "peak resident memory: \(small) kB after 10 MB, \(large) kB after 300 MB,",
                "there and back in \(Date().timeIntervalSince(start).rounded()) s")
            #expect(large < small + 40_000, "\(small) kB, then \(large) kB")
        }
    #endif

    /// Uploads zeros, saves them in a record and fetches them.
    private static func transfer(
        _ sizeBytes: Int, _ session: Session, _ instance: ServedInstance
    ) throws {
        let tokens = try session.post(
            "assets/upload", #"{"tokens":[{"recordName":"r\#(sizeBytes)","fieldName":"film"}]}"#)
        let token = try #require(try tokens.object()["tokens"] as? [[String: Any]])[0]
        let url = try #require(token["url"] as? String)
        #expect(url.hasPrefix("http://localhost/assets/put/"))
        let connection = try RawConnection(port: instance.port)
        try connection.send(
            "POST \(url.dropFirst("http://localhost".count)) HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Length: \(sizeBytes)\r\n\r\n")
        let zeros = [UInt8](repeating: 0, count: megabyte)
        for _ in 0..<(sizeBytes / megabyte) { try connection.send(zeros) }
        let uploaded = connection.readAnswer()
        #expect(uploaded.status == 200)
        let file = uploaded.body.dropFirst(#"{"singleFile":"#.count).dropLast()
        let saved = try session.post(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"r\#(sizeBytes)","#
                + #""recordType":"Film","fields":{"film":{"value":\#(file)}}}}]}"#)
        let record = try #require(try saved.object()["records"] as? [[String: Any]])[0]
        let fields = try #require(record["fields"] as? [String: [String: Any]])
        let value = try #require(fields["film"]?["value"] as? [String: Any])
        let download = try #require(value["downloadURL"] as? String)
        let fetching = try RawConnection(port: instance.port)
        try fetching.send(
            "GET \(download.dropFirst("http://localhost".count)) HTTP/1.1\r\nHost: localhost\r\n"
                + "Connection: close\r\n\r\n")
        let received = fetching.countToEnd()
        #expect(received > sizeBytes && received < sizeBytes + 2_000)
    }

    /// The peak resident memory of the service's process so far.
    private static func peakKilobytes(of instance: ServedInstance) throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(instance.processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM") })
        return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
    }
}

extension RawConnection {
    /// Reads until the other side closes.
    ///
    /// - Returns: the number of bytes.
    fileprivate func countToEnd() -> Int {
        var count = 0
        while case let more = receive(upTo: 1_000_000), !more.isEmpty { count += more.count }
        return count
    }
}

import Foundation
import Hummingbird
import NIOCore
import Synchronization
import TestServing
import Testing

@testable import StratusClient

/// Requests over broken connections between the device and the service.
@Suite(.timeLimit(.minutes(20))) struct ConnectionErrorTests {
    private func transport(_ origin: String) throws -> HTTPTransport {
        try #require(
            HTTPTransport(
                origin: origin, credentials: .init(apiToken: "development", webAuthToken: "t"),
                deviceID: "phone"))
    }

    private func database(_ origin: String) throws -> CKDatabase {
        CKContainer(
            identifier: "iCloud.org.example.Trails",
            connection: CloudConnection(
                transport: try transport(origin), hasAccount: true, deviceID: "phone")
        ).privateCloudDatabase
    }

    /// The network breaks after the head of an answer and its first bytes.
    @Test func stalledAnswerIsNetworkFailure() async throws {
        let (gate, opened) = AsyncStream<Void>.makeStream()
        try await withServer(
            answering { writer in
                try await writer.write(ByteBuffer(string: "{"))
                for await _ in gate {}
            },
            { port in
                defer { opened.finish() }
                let origin = "http://127.0.0.1:\(port)"
                let configuration = CKOperation.Configuration()
                configuration.timeoutIntervalForRequest = 0.2
                await #expect(throws: CKError(.networkFailure)) {
                    try await self.database(origin).configuredWith(configuration: configuration) {
                        try await $0.allRecordZones()
                    }
                }
                // The notification may have been in the answer, so this is not a quiet poll.
                let error = await #expect(throws: TransportError.self) {
                    try await self.transport(origin)
                        .nextNotification(at: "\(origin)/courier", timeoutSeconds: 0.2)
                }
                #expect(error?.code == .timedOut)
            })
    }

    @Test(arguments: [.infinity, .nan, -1, 1e300])
    func downloadAcceptsExtremeTimeouts(_ timeoutSeconds: Double) async throws {
        try await withServer(
            answering { try await $0.write(ByteBuffer(string: "bytes")) },
            { port in
                let transport = try self.transport("http://127.0.0.1:\(port)")
                let received = Mutex("")
                do {
                    try await transport.download(
                        from: "/assets/get/a", timeoutSeconds: timeoutSeconds
                    ) { piece in
                        received.withLock { $0 += String(decoding: piece, as: UTF8.self) }
                    }
                    #expect(received.withLock { $0 } == "bytes")
                } catch let error as TransportError {
                    // Only a timeout that is not positive is too short.
                    #expect(error.code == .timedOut && !(timeoutSeconds > 0))
                }
            })
    }

    /// Nothing was sent, so the service cannot have served anything.
    @Test func untrustedServerReceivesNoRequest() async throws {
        let asked = Log()
        try await withServer(
            answering { _ in asked.add("asked") },
            { port in
                let error = await #expect(throws: CKError.self) {
                    try await self.database("https://127.0.0.1:\(port)").allRecordZones()
                }
                #expect(error?.code == .networkFailure)
                let cause = error?.transportError
                #expect(cause?.code == .notTrusted, "\(String(describing: cause))")
            })
        #expect(asked.all.isEmpty)
    }

    @Test func unknownHostIsNetworkUnavailable() async throws {
        // RFC 2606 reserves this name, so no name server knows it.
        let error = await #expect(throws: CKError.self) {
            try await self.database("http://stratus.invalid").allRecordZones()
        }
        #expect(error?.code == .networkUnavailable)
        let cause = error?.transportError
        #expect(cause?.code == .noRoute)
        #expect(cause?.sentence.hasPrefix("The host stratus.invalid was not found") == true)
    }

    /// The system's own error for such a name has a type of its own.
    @Test func unresolvedNameIsNoRoute() throws {
        let unknown = try #require(throws: SocketAddressError.UnknownHost.self) {
            try SocketAddress.makeAddressResolvingHost("stratus.invalid", port: 80)
        }
        let error = HTTPTransport.transportError(unknown)
        #expect(error.code == .noRoute)
        #expect(error.sentence.hasPrefix("The host stratus.invalid was not found"))
    }
}

extension CKError {
    /// The transport's error, at the end of the chain of causes.
    fileprivate var transportError: TransportError? {
        var cause = userInfo[NSUnderlyingErrorKey]
        while let error = cause, !(error is TransportError) {
            cause = (error as? any CustomNSError)?.errorUserInfo[NSUnderlyingErrorKey]
        }
        return cause as? TransportError
    }
}

import AppDevice
import CloudKit
import NotesCore
import StratusService
import StratusTesting
import StratusWire
import Synchronization
import TestProcesses

/// A cloud in this process, one clock that stands still until a test moves it, and a folder for each device.
final class NotesWorld: Sendable {
    static let container = "iCloud.org.example.Notes"

    let clock = TestClock()
    let cloud: TestCloud
    let folder: TemporaryFolder

    init(cloud: TestCloud = TestCloud()) throws {
        self.cloud = cloud
        folder = try TemporaryFolder()
    }

    /// - Parameters:
    ///   - owner: the user whom the device knows to be signed in.
    ///   - version: the app's version on this device.
    func open(
        _ device: String, user: String? = "alice", owner: String? = nil, version: Int = 1,
        isStarted: Bool = true
    ) async throws -> NoteDevice {
        let container = try await cloud.container(Self.container, user: user, device: device)
        return try await open(
            device, container, owner: owner, version: version, isStarted: isStarted)
    }

    func open(
        _ device: String, _ container: CKContainer, owner: String? = nil, version: Int = 1,
        isStarted: Bool = true
    ) async throws -> NoteDevice {
        let path = folder.path + "/" + device
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let app = try NoteController(
            container: container, folder: path, owner: owner, version: version,
            world: clock.world)
        let opened = NoteDevice(app: app, container: container, path: path, clock: clock)
        if isStarted { await app.start() }
        return opened
    }

    /// A phone that has saved "one" and typed "two", whose save will fail.
    func openTyping(beforeFault fault: CloudFaults.Effect) async throws -> NoteDevice {
        let phone = try await open("phone")
        try await phone.save("one")
        cloud.faults.next(of: RecordsModify.self, fault)
        try await phone.app.type("two")
        return phone
    }

    /// Waits until every fault has met its request; otherwise the test's time limit ends the wait.
    func faultsAreMet() async throws {
        while !cloud.faults.remaining.isEmpty {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Counts the requests to an endpoint from now on.
    func count(_ endpoint: any Endpoint.Type) -> RequestCount {
        cloud.faults.next(RequestCount.most, of: endpoint, .delay(seconds: 0))
        return RequestCount(cloud: cloud)
    }
}

struct RequestCount {
    static let most = 1_000

    let cloud: TestCloud

    /// Ends the count.
    ///
    /// - Returns: the number of requests since it began.
    func end() -> Int {
        let left = cloud.faults.remaining.first?.times ?? 0
        cloud.faults.clear()
        return Self.most - left
    }
}

/// One device of a user, with the events that its screen received.
final class NoteDevice: Sendable {
    let app: NoteController
    let container: CKContainer
    let path: String
    private let clock: TestClock
    private let seen = Seen()
    private let reading = Mutex<Task<Void, Never>?>(nil)

    init(app: NoteController, container: CKContainer, path: String, clock: TestClock) {
        (self.app, self.container, self.path, self.clock) = (app, container, path, clock)
        let seen = seen
        reading.withLock { $0 = Task { for await event in app.events { await seen.add(event) } } }
    }

    var text: String { get async { await app.text } }
    var status: NoteStatus { get async { await app.status } }

    /// Types, and lets the typing timer fire.
    func save(_ text: String) async throws {
        try await app.type(text)
        await typingPauses()
        await until { $0 == .saved }
    }

    /// Lets the typing timer fire.
    func typingPauses() async {
        await clock.waitForSleeper(seconds: 0.001...NoteController.typingSeconds)
        clock.advance(bySeconds: NoteController.typingSeconds)
    }

    /// Waits until the note has reached this step.
    func until(_ condition: @escaping @Sendable (NoteStatus.Step) -> Bool) async {
        while true {
            let count = await seen.count
            if await condition(app.status.step) { return }
            await seen.wait(forMoreThan: count)
        }
    }

    /// Waits for an event; an earlier one counts too.
    func wait(_ condition: @escaping @Sendable (NoteController.Event) -> Bool) async {
        await seen.wait(condition)
    }

    /// The contents of all files on the device's disk.
    func bytes() throws -> Data {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted().reduce(Data()) {
            $0 + (FileManager.default.contents(atPath: path + "/" + $1) ?? Data())
        }
    }

    private actor Seen {
        private var events: [NoteController.Event] = []
        private var waiters:
            [(
                condition: @Sendable (NoteController.Event) -> Bool,
                continuation: CheckedContinuation<Void, Never>
            )] = []

        func add(_ event: NoteController.Event) {
            events.append(event)
            let woken = waiters.filter { $0.condition(event) }
            waiters.removeAll { $0.condition(event) }
            for waiter in woken { waiter.continuation.resume() }
        }

        var count: Int { events.count }

        func wait(forMoreThan count: Int) async {
            if events.count > count { return }
            await withCheckedContinuation { waiters.append(({ _ in true }, $0)) }
        }

        func wait(_ condition: @escaping @Sendable (NoteController.Event) -> Bool) async {
            if events.contains(where: condition) { return }
            await withCheckedContinuation { waiters.append((condition, $0)) }
        }
    }
}

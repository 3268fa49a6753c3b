import Foundation
import StratusTesting
import Synchronization
import Testing

@testable import StratusClient

/// Signing in from within an app, with a real server and a simulated browser.
@Suite struct ClientSignInTests {
    @Test func signInOnPageIsKeptUntilSignOut() async throws {
        try await SignInScene.run { scene, browser in
            let app = scene.start()
            #expect(try await app.accountStatus() == .noAccount)
            let changes = Kept<Int>()
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: app.connection, queue: nil
            ) { _ in changes.add(1) }
            defer { NotificationCenter.default.removeObserver(observer) }
            let ends = Kept<PlayedBrowser.Page>()
            let user = try await app.signIn { page in
                let back = try await browser.signIn(on: page, emailAddress: SignInScene.ida)
                #expect(back.status == 303)
                let taken = try await browser.get(try #require(back.location))
                #expect(taken.status == 303)
                ends.add(try await browser.get(try #require(taken.location)))
            }
            // The address bar keeps no token, and the page says what to do next.
            let end = try #require(ends.all.first)
            #expect(end.status == 200)
            #expect(
                end.text.contains(
                    "You can close this page and go back to \(SignInScene.container)."))
            #expect(changes.all.count == 1)
            #expect(try await app.accountStatus() == .available)
            let file = try #require(try scene.keptFiles.first)
            let mode = try FileManager.default.attributesOfItem(
                atPath: file.path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            #expect(!file.lastPathComponent.contains(scene.apiToken))

            // The restarted app knows its user before it is online.
            let next = scene.start()
            #expect(next.connection.hasAccount)
            #expect(next.connection.signedInUserRecordName == user.recordName)
            #expect(try await next.userRecordID() == user)
            #expect(try await next.connection.sessions(container: SignInScene.container).count == 1)

            try await next.signOut()
            #expect(try await next.accountStatus() == .noAccount)
            #expect(try scene.keptFiles.isEmpty)
            #expect(!scene.start().connection.hasAccount)
            // The session is over, also for a process that still has its tokens.
            #expect(try await app.accountStatus() == .temporarilyUnavailable)
        }
    }

    /// `CloudConnection.current` makes its connection within a lock, and an observer that makes a container needs it.
    @Test func resumedSignInOfANewConnectionIsNotPosted() async throws {
        try await SignInScene.run { scene, _ in
            _ = try await scene.startedByIda()
            let device = UUID().uuidString
            let changes = Kept<String>()
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: nil, queue: nil
            ) { note in
                guard let connection = note.object as? CloudConnection,
                    connection.deviceID == device
                else { return }
                changes.add(device)
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            let connection = scene.start(deviceID: device).connection
            #expect(connection.hasAccount && changes.all.isEmpty)
            // Resuming it again is a change of a connection in use.
            #expect(try connection.resumeSignIn())
            #expect(changes.all.count == 1)
        }
    }

    @Test func anotherUsersSignInEndsPreviousSession() async throws {
        try await SignInScene.run { scene, _ in
            let (app, ida) = try await scene.startedByIda()
            let former = scene.start()
            #expect(try await former.userRecordID() == ida)
            let ole = try await app.signIn(
                emailAddress: SignInScene.ole, password: "correct horse")
            #expect(ole != ida)
            #expect(try await app.userRecordID() == ole)
            #expect(scene.start().connection.signedInUserRecordName == ole.recordName)
            #expect(try scene.keptFiles.count == 1)
            #expect(try await former.accountStatus() == .temporarilyUnavailable)
        }
    }

    @Test func wrongPasswordChangesNothing() async throws {
        try await SignInScene.run { scene, _ in
            let (app, ida) = try await scene.startedByIda()
            let error = await #expect(throws: CKError.self) {
                try await app.signIn(emailAddress: SignInScene.ole, password: "wrong horse")
            }
            #expect(error?.code == .notAuthenticated)
            // The app's tokens are not the cause.
            #expect(error?.localizedDescription.contains("STRATUS_API_TOKEN") == false)
            #expect(try await app.userRecordID() == ida)
        }
    }

    @Test func failedSignInLeavesAUserWhoSignedInMeanwhile() async throws {
        try await SignInScene.run { scene, _ in
            let transport = try #require(
                HTTPTransport(
                    origin: scene.origin, credentials: .init(apiToken: scene.apiToken),
                    deviceID: "phone"))
            let store = FailingKeyStore()
            let connection = CloudConnection(
                transport: transport, hasAccount: false, deviceID: "phone", keyStore: store)
            let app = CKContainer(identifier: SignInScene.container, connection: connection)
            for another: String? in ["another", nil] {
                store.beforeFailing {
                    if let another { try connection.signIn(webAuthToken: another) }
                }
                await #expect(throws: CKError.self) {
                    try await app.signIn(
                        emailAddress: SignInScene.ida, password: "correct horse")
                }
                #expect(connection.hasAccount == (another != nil))
            }
        }
    }

    /// A process that runs for weeks stays signed in, and so does an app that runs for a second each day.
    @Test func rotatedTokensAreStored() async throws {
        try await SignInScene.run { scene, _ in
            let uptime = Mutex<Double>(1_000)
            let world = CloudConnection.World(uptimeSeconds: { uptime.withLock { $0 } })
            let app = scene.start(world: world)
            try await app.signIn(emailAddress: SignInScene.ida, password: "correct horse")
            func kept() throws -> Data { try Data(contentsOf: #require(scene.keptFiles.first)) }
            let first = try kept()
            _ = try await app.accountStatus()
            #expect(try kept() == first)
            uptime.withLock { $0 += 61 }
            _ = try await app.accountStatus()
            let second = try kept()
            #expect(second != first)
            // Each process stores the tokens of its first answer.
            let next = scene.start(world: world)
            _ = try await next.accountStatus()
            let third = try kept()
            #expect(third != second)
            // After a sign-out in another process a late answer does not sign in again.
            try next.connection.signOut()
            uptime.withLock { $0 += 61 }
            _ = try await app.accountStatus()
            #expect(try scene.keptFiles.isEmpty)
        }
    }

    @Test func storedSignInReadableByOthersIsRefused() async throws {
        try await SignInScene.run { scene, _ in
            try await scene.start().signIn(
                emailAddress: SignInScene.ida, password: "correct horse")
            let file = try #require(try scene.keptFiles.first)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: file.path)
            let app = scene.start()
            #expect(!app.connection.hasAccount)
            let error = await #expect(throws: CKError.self) { try await app.accountStatus() }
            #expect(error?.localizedDescription.contains("chmod 600") == true)
            try await app.signOut()
            #expect(try scene.keptFiles.isEmpty)
        }
    }

    // MARK: The app's own address

    @Test func customSchemeCallbackAcceptsOneAnswerToItsPage() async throws {
        let callback = "org.example.trails:/signed-in"
        try await SignInScene.run(callbackURL: callback) { scene, browser in
            let app = scene.start()
            let page = try await app.signInPage(returningTo: try #require(URL(string: callback)))
            let form = try await browser.get(page.absoluteString)
            #expect(form.policy?.contains("form-action 'self' org.example.trails:;") == true)
            let back = try await browser.signIn(on: page, emailAddress: SignInScene.ida)
            let address = try #require(back.location)
            #expect(address.hasPrefix(callback + "?ckWebAuthToken="))
            let state = try #require(address.split(separator: "=").last)
            for forged in [
                address.replacing("&state=\(state)", with: ""),
                address.replacing(state, with: String(repeating: "0", count: state.count)),
                address + "&state=\(state)", address + "&ckWebAuthToken=other",
                callback, callback + "?state=\(state)",
            ] {
                let error = await #expect(throws: CKError.self) {
                    try await app.finishSignIn(try #require(URL(string: forged)))
                }
                #expect(error?.code == .invalidArguments, "\(forged)")
            }
            #expect(!app.connection.hasAccount)
            try await app.finishSignIn(try #require(URL(string: address)))
            #expect(try await app.accountStatus() == .available)
            await #expect(throws: CKError.self) {
                try await app.finishSignIn(try #require(URL(string: address)))
            }
            #expect(try await app.accountStatus() == .available)
        }
    }

    /// The error comes before the app opens a page that asks for a password.
    @Test func disallowedCallbackAddressOpensNoPage() async throws {
        for callback in [nil, "https://trails.example.org/in", "org.example.trails:/in"] {
            try await SignInScene.run(callbackURL: callback) { scene, _ in
                let app = scene.start()
                let opened = Kept<URL>()
                let error = await #expect(throws: CKError.self) {
                    try await app.signIn { opened.add($0) }
                }
                #expect(error?.code == .notAuthenticated)
                #expect(error?.localizedDescription.contains("--loopback") == true)
                #expect(opened.all.isEmpty)
            }
        }
    }
}

/// A key store that fails to store a sign-in, after it has run a test's code.
private final class FailingKeyStore: PassingKeyStore {
    let store: any CloudKeyStore = MemoryKeyStore()
    private let work = Mutex<@Sendable () throws -> Void>({})

    func beforeFailing(_ body: @escaping @Sendable () throws -> Void) {
        work.withLock { $0 = body }
    }

    func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {
        let body = work.withLock { $0 }
        try body()
        throw CloudKeyStoreError(sentence: "The test keeps no sign-in.")
    }
}

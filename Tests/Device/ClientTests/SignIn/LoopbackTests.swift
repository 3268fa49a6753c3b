import Foundation
import Testing

@testable import StratusClient

/// Connections to the port on which an app waits for its sign-in.
@Suite struct LoopbackTests {
    /// Any page and any program on the machine may connect: their requests are refused, and the app goes on waiting.
    @Test func forgedRequestsDoNotEndTheSignIn() async throws {
        try await SignInScene.run { scene, browser in
            let app = scene.start()
            let user = try await app.signIn { page in
                let back = try await browser.signIn(on: page, emailAddress: SignInScene.ida)
                let address = try #require(back.location)
                let parts = address.split(separator: "?")
                let (place, query) = (String(parts[0]), String(parts[1]))
                let state = try #require(query.split(separator: "state=").last)
                let evil = "ckWebAuthToken=evil"
                let right = "state=\(state)"
                func status(_ url: String, _ headers: [String: String] = [:]) async throws -> Int {
                    try await browser.get(url, headers: headers).status
                }
                // Forged tokens: without the state, with a wrong one, with two.
                for forged in [
                    evil, "\(evil)&state=", "\(evil)&state=\(state.dropLast())",
                    "\(evil)&state=\(String(repeating: "0", count: state.count))",
                    "\(evil)&\(right)&\(right)", "\(evil)&state=x&\(right)",
                    "\(evil)&ckWebAuthToken=other&\(right)", right, "ckWebAuthToken=&\(right)",
                    "\(evil)&ckSession=other&\(right)", "",
                ] {
                    #expect(try await status(place + "?" + forged) == 400, "\(forged)")
                }
                // Other paths, which a browser would resolve to another place.
                for path in ["x?", ".//?", "%2e?", "x/../y?"] {
                    #expect(try await status(place + path + query) == 400, "\(path)")
                }
                // Requests of another origin: by another name of this machine, by a form, by an image or a script.
                let port = try #require(URL(string: place)?.port)
                for host in [
                    "localhost:\(port)", "127.0.0.1", "127.0.0.1.evil.example:\(port)",
                    "evil.example",
                ] {
                    #expect(try await status(address, ["Host": host]) == 421, "\(host)")
                }
                #expect(try await browser.post(address).status == 405)
                for (name, value) in [
                    ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Mode", "cors"),
                    ("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Dest", "iframe"),
                ] {
                    #expect(try await status(address, [name: value]) == 403, "\(value)")
                }
                #expect(!app.connection.hasAccount)
                let taken = try await browser.get(
                    address, headers: ["Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"])
                #expect(taken.status == 303)
                #expect(taken.location?.contains("ckWebAuthToken") == false)
                // A second answer finds no listener, or one that has its answer.
                let second = try? await browser.get(address).status
                #expect(second == nil || second == 410)
            }
            #expect(try await app.userRecordID() == user)
        }
    }

    @Test func refusedConnectionsDoNotCountTowardTheLimit() {
        let callbackGuard = CallbackGuard(
            callback: SignInCallback(world: .live), next: "",
            tokens: AsyncStream<String>.makeStream().continuation)
        for _ in 0..<4 { #expect(callbackGuard.admit(upTo: 4)) }
        for _ in 0..<10 { #expect(!callbackGuard.admit(upTo: 4)) }
        for _ in 0..<4 { callbackGuard.release() }
        #expect(callbackGuard.admit(upTo: 4))
    }

    @Test func unfinishedSignInTimesOut() async throws {
        try await SignInScene.run { scene, _ in
            // The person's time is over at once, and requests have all of theirs.
            let world = CloudConnection.World(timeout: { seconds in
                guard seconds != CKContainer.signInSeconds else { return }
                try await CloudConnection.World.live.timeout(seconds)
            })
            let app = scene.start(world: world)
            let error = await #expect(throws: CKError.self) { try await app.signIn { _ in } }
            #expect(error?.code == .operationCancelled)
            #expect(!app.connection.hasAccount)
            let kept = try scene.keptFiles
            #expect(kept.isEmpty)
        }
    }
}

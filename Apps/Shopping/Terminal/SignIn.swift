import AppDevice
import ArgumentParser
import Foundation
import ShoppingCore
import StratusRuntime

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

extension Shopping {
    /// `shopping sign-in`: the service's page in the browser, and back.
    struct SignIn: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign in on the service's page, in a browser; this device stays signed in.",
            discussion: "Set STRATUS_URL and STRATUS_API_TOKEN first; see shopping --help.")

        @ParentCommand var shopping: Shopping

        func run() async throws {
            try await inFolder(shopping.data) { container in
                try await container.signIn()
                print("You are signed in. Start shopping: your lists come by themselves.")
            }
        }
    }

    /// `shopping sign-out`: ends the session of this device.
    struct SignOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send what is pending, remove your lists from this device, and sign out.",
            discussion: "The lists come back when you sign in again.")

        @ParentCommand var shopping: Shopping

        @Flag(help: "Sign out also when not all can be sent; what was not sent is lost.")
        var anyway = false

        func run() async throws {
            let session = try await shopping.openSession()
            guard session.isSignedIn else {
                print("No user is signed in on this device; to sign in, run shopping sign-in.")
                try await session.end()
                return
            }
            await session.beginQuietly(listTitle: nil, isOnline: true)
            do {
                print(try await session.answer(to: .signOut(anyway ? "anyway" : "")))
            } catch let error as CannotDo {
                try await session.end()
                throw OneSentence(
                    error.description.replacing(
                        "type signout anyway", with: "add --anyway"))
            }
            print("You are signed out.")
            try await session.end()
        }
    }

    private static func inFolder(
        _ path: String?, _ body: (CKContainer) async throws -> Void
    ) async throws {
        do {
            let folder = try DeviceFolder(path: path ?? DeviceFolder.standardPath)
            try await body(container(in: folder))
        } catch let error as DeviceFolder.Failure {
            throw OneSentence(error.description)
        } catch let error as CKError {
            throw OneSentence(error.localizedDescription)
        }
    }
}

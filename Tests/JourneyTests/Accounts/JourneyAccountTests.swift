import Foundation
import TestProcesses
import Testing

/// Who can sign in: with `--dev` by name alone, otherwise only with tokens from the command line.
@Suite struct JourneyAccountTests {
    static let container = "iCloud.org.example.Journeys"

    @Test func signInByNameNeedsDevMode() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path, arguments: [])
        let connection = try RawConnection(port: instance.port)
        let signIn = try Session.post(connection, "/dev/sign-in", #"{"user":"alice"}"#)
        #expect(signIn.status == 404)
        let answer = try Session.post(
            connection,
            "/database/1/\(Self.container)/development/public/zones/list?ckAPIToken=development",
            "{}")
        #expect(answer.status == 401)
        #expect(try answer.errorCode() == "AUTHENTICATION_FAILED")
        #expect(instance.terminate() == 0)
    }

    @Test func tokensFromCommandLineAuthenticate() throws {
        let folder = try TemporaryFolder()
        let printed = try CommandRun([
            "token", "create", "--data", folder.path, "--container", Self.container,
            "--user", "alice", "--new-user",
        ]).output
        let pairs = printed.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
        let keys = Dictionary(
            uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
        let apiToken = try #require(keys["STRATUS_API_TOKEN"])
        let webAuthToken = try #require(
            keys["STRATUS_WEB_AUTH_TOKEN"]?
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics))

        let instance = try ServedInstance(dataFolder: folder.path, arguments: [])
        let connection = try RawConnection(port: instance.port)
        let path = "/database/1/\(Self.container)/development"
        let query = "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(webAuthToken)"
        let saved = try Session.post(
            connection, "\(path)/private/records/modify\(query)",
            #"{"operations":[{"operationType":"create","record":{"recordType":"Hut"}}]}"#)
        #expect(saved.status == 200)
        #expect(try saved.errorCode() == nil)
        let stranger = try Session.post(
            connection, "\(path)/private/zones/list?ckAPIToken=\(apiToken)", "{}")
        #expect(stranger.status == 421)
        #expect(instance.terminate() == 0)
    }
}

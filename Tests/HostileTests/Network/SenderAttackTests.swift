import Foundation
import TestProcesses
import Testing

/// One sender tries to use up the limits of others: rates, transfer, sign-ins.
@Suite(.serialized) struct SenderAttackTests {
    private static let container = "iCloud.org.example.Doors"
    private static let path = "/database/1/\(container)/development"

    /// A container with a token, and users with theirs.
    private static func tokens(
        in folder: String, users: [String]
    ) throws -> (api: String, web: [String]) {
        var api = ""
        var web: [String] = []
        for user in users {
            let printed = try AttackedService.run([
                "token", "create", "--data", folder, "--container", container, "--user", user,
                "--new-user",
            ]).output
            for line in printed.split(separator: "\n") {
                let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
                guard pair.count == 2 else { continue }
                if pair[0] == "STRATUS_API_TOKEN" { api = pair[1] }
                if pair[0] == "STRATUS_WEB_AUTH_TOKEN" {
                    web.append(
                        pair[1].addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
                }
            }
        }
        return (api, web)
    }

    /// A service with these limits, and the tokens of an app and of Ida.
    private static func serveIda(
        in folder: AttackedFolder, limits: [String]
    ) throws -> (AttackedService, api: String, web: [String]) {
        let (api, web) = try tokens(in: folder.path, users: ["ida"])
        let service = try AttackedService(
            limits.flatMap { ["--limit", $0] }, storage: ["--data", folder.path])
        return (service, api, web)
    }

    /// A device with an expired session keeps sending requests; another one at the same address is served.
    @Test func expiredSessionDoesNotSlowNeighbours() throws {
        let folder = AttackedFolder()
        let (service, api, web) = try Self.serveIda(
            in: folder, limits: ["requestsPerSecondPerAddress=2", "requestsInBurstPerAddress=40"])
        let expired = try RawConnection(attacking: service.port)
        for _ in 0..<60 {
            let answer = try expired.ask(
                posting(
                    Self.path + "/private/zones/list?ckAPIToken=\(api)&ckWebAuthToken=expired", "{}"
                ))
            #expect([421, 429].contains(answer.status), "\(answer)")
        }
        let neighbour = try RawConnection(attacking: service.port)
        for _ in 0..<5 {
            let answer = try neighbour.ask(
                posting(
                    Self.path
                        + "/private/zones/list?ckAPIToken=\(api)&ckWebAuthToken=\(try #require(web.first))",
                    "{}"))
            #expect(answer.status == 200, "\(answer)")
        }
    }

    /// Transfers without a user do not use up an app's limit.
    @Test func anonymousSendersDoNotUseUpTheAppsTransferLimit() throws {
        let folder = AttackedFolder()
        let (service, api, web) = try Self.serveIda(
            in: folder,
            limits: [
                "transferBytesPerSecondPerAddress=100_000",
                "transferBytesInBurstPerAddress=2_000_000",
            ])
        let body = #"{"query":{"recordType":"Users"}}"# + String(repeating: " ", count: 1_000_000)
        let stranger = try RawConnection(attacking: service.port, from: "127.0.0.9")
        var statuses: [Int] = []
        for _ in 0..<6 {
            statuses.append(
                try stranger.ask(
                    posting(Self.path + "/public/records/query?ckAPIToken=\(api)", body)
                )
                .status)
        }
        #expect(statuses.contains(429), "\(statuses)")
        let user = try RawConnection(attacking: service.port)
        let answer = try user.ask(
            posting(
                Self.path
                    + "/private/zones/list?ckAPIToken=\(api)&ckWebAuthToken=\(try #require(web.first))",
                "{}"))
        #expect(answer.status == 200, "\(answer)")
    }

    /// Only a trusted proxy may say where a request comes from.
    @Test func forwardedAddressOfStrangersIsIgnored() throws {
        let wrong = Self.path + "/public/zones/list?ckAPIToken=wrong"
        func statuses(_ arguments: [String]) throws -> [Int] {
            let service = try AttackedService(
                [
                    "--public-url", "https://cloud.example.org", "--limit",
                    "requestsPerSecondPerAddress=1", "--limit", "requestsInBurstPerAddress=3",
                ] + arguments)
            let connection = try RawConnection(attacking: service.port)
            return try (0..<8).map { number in
                try connection.ask(
                    posting(
                        wrong, "{}", host: "cloud.example.org",
                        headers: "X-Forwarded-For: 10.0.0.\(number)\r\n")
                ).status
            }
        }
        #expect(try statuses([]).contains(429))
        #expect(try !statuses(["--trusted-proxies", "127.0.0.1/32"]).contains(429))
    }
}

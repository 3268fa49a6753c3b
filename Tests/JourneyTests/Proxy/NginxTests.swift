#if os(Linux)
    import Foundation
    import Testing

    /// Debian's nginx in front of the service, with the configuration that Operations.md gives.
    @Suite(
        .enabled(
            if: Nginx.path != nil,
            "nginx is not installed; on Debian: Scripts/install nginx"),
        .timeLimit(.minutes(20)))
    struct NginxTests {
        private func start(_ limits: [String] = []) throws -> (Nginx, ServedInstance) {
            let nginx = try Nginx()
            let instance = try ServedInstance(
                dataFolder: nginx.folder.path + "/data",
                arguments: [
                    "--dev", "--public-url", nginx.url, "--trusted-proxies", "127.0.0.1",
                ] + limits.flatMap { ["--limit", $0] })
            try nginx.start(before: instance.port)
            return (nginx, instance)
        }

        private func query(_ nginx: Nginx) throws -> String {
            let answer = try nginx.ask("/dev/sign-in", #"{"user":"alice"}"#)
            let token = try #require(try answer.object()["ckWebAuthToken"] as? String)
            let escaped = try #require(
                token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            return "?ckAPIToken=development&ckWebAuthToken=\(escaped)&clientId=phone"
        }

        private let database = "/database/1/\(Session.container)/development/"

        /// Fifty megabytes pass in both directions, as a form like other clients send; nginx refuses more.
        @Test func largestAssetIsUploadedAndDownloaded() throws {
            let (nginx, instance) = try start()
            defer { nginx.stop() }
            let query = try query(nginx)
            let file = nginx.folder.path + "/film"
            try Data((0..<50_000_000).lazy.map { UInt8(truncatingIfNeeded: $0 / 999) })
                .write(to: URL(fileURLWithPath: file))
            let tokens = try nginx.ask(
                database + "private/assets/upload" + query,
                #"{"tokens":[{"recordName":"r","recordType":"Film","fieldName":"film"}]}"#)
            let token = try #require(try tokens.object()["tokens"] as? [[String: Any]]).first
            let address = try #require(token?["url"] as? String)
            #expect(address.hasPrefix(nginx.url + "/"))
            let uploaded = try nginx.curl(["-F", "files=@\(file)", address])
            #expect(uploaded.status == 200, "\(uploaded)")
            let receipt = uploaded.body.dropFirst(#"{"singleFile":"#.count).dropLast()
            let saved = try nginx.ask(
                database + "private/records/modify" + query,
                #"{"operations":[{"operationType":"create","record":{"recordName":"r","#
                    + #""recordType":"Film","fields":{"film":{"value":\#(receipt)}}}}]}"#)
            let record = try #require(try saved.object()["records"] as? [[String: Any]]).first
            let fields = try #require(record?["fields"] as? [String: [String: Any]])
            let value = try #require(fields["film"]?["value"] as? [String: Any])
            let download = try #require(value["downloadURL"] as? String)
            let copy = nginx.folder.path + "/copy"
            #expect(try nginx.curl(["-o", copy, download]).status == 200)
            #expect(FileManager.default.contentsEqual(atPath: file, andPath: copy))
            let large = nginx.folder.path + "/large"
            try Data(count: 60_000_000).write(to: URL(fileURLWithPath: large))
            #expect(try nginx.curl(["-F", "files=@\(large)", address]).status == 413)
            #expect(instance.terminate() == 0)
        }

        /// A waiting poll gets a change's notification, and one without a notification ends after the service's time.
        @Test func longPollsReturnNotificationOrTimeOut() throws {
            let (nginx, instance) = try start(["longPollSeconds=3"])
            defer { nginx.stop() }
            let query = try query(nginx)
            let made = try nginx.ask(
                database + "tokens/create" + query, #"{"apnsEnvironment":"development"}"#
            ).object()
            let address = try #require(made["webcourierURL"] as? String)
            let token = try #require(made["apnsToken"] as? String)
            let registered = try nginx.ask(
                database + "tokens/register" + query,
                #"{"apnsEnvironment":"development","apnsToken":"\#(token)"}"#)
            #expect(registered.status == 200, "\(registered)")
            #expect(address.hasPrefix(nginx.url + "/courier/"))
            let idle = try nginx.curl([address])
            #expect(idle.status == 200 && idle.body == "{}", "\(idle)")
            let subscription = #"{"subscriptionID":"s","subscriptionType":"database"}"#
            _ = try nginx.ask(
                database + "private/subscriptions/modify" + query,
                #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
            let other = query.replacingOccurrences(of: "clientId=phone", with: "clientId=tablet")
            for action in ["zones", "records"] {
                let what =
                    action == "zones"
                    ? #""zone":{"zoneID":{"zoneName":"Trips"}}"#
                    : #""record":{"recordName":"hut","recordType":"Hut"}"#
                let zone = action == "zones" ? "" : #""zoneID":{"zoneName":"Trips"},"#
                let saved = try nginx.ask(
                    database + "private/\(action)/modify" + other,
                    #"{\#(zone)"operations":[{"operationType":"create",\#(what)}]}"#)
                #expect(saved.status == 200, "\(saved)")
            }
            let polled = try nginx.curl([address])
            #expect(polled.status == 200 && polled.body.contains(#""sid":"s""#), "\(polled)")
            #expect(instance.terminate() == 0)
        }

        /// nginx waits longer than the service's default limits.
        @Test func documentedTimeoutsExceedTheServicesTimeouts() throws {
            let configuration = try Nginx.documented()
            let line = try #require(
                configuration.split(separator: "\n").first { $0.contains("proxy_read_timeout") })
            let seconds = try #require(Double(String(line.filter(\.isNumber))))
            let limits = try CommandRun(["limits"]).output
            let poll = try #require(
                limits.split(separator: "\n").first { $0.contains("longPollSeconds") })
            let longest = try #require(
                poll.split { !$0.isNumber && $0 != "." }.compactMap { Double($0) }.first)
            #expect(longest >= 50 && seconds > longest + 10, "\(line), \(poll)")
        }

        /// Rates apply to the address that connects to nginx, whatever the client claims.
        @Test func rateLimitsUseTheClientsAddress() throws {
            let (nginx, instance) = try start([
                "requestsPerSecondPerAddress=1", "requestsInBurstPerAddress=10",
            ])
            defer { nginx.stop() }
            func status(_ address: String, _ more: [String] = []) throws -> Int {
                let path = "public/records/query?ckAPIToken=wrong"
                return try nginx.ask(
                    database + path, "{}", ["--interface", address] + more
                ).status
            }
            #expect(try status("127.0.0.2") == 401)
            #expect(try status("127.0.0.2") == 429)
            #expect(try status("127.0.0.2", ["-H", "X-Forwarded-For: 1.2.3.4"]) == 429)
            #expect(try status("127.0.0.3") == 401)
            #expect(instance.terminate() == 0)
        }
    }
#endif

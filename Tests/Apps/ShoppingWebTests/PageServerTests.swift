import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ShoppingWeb
import Testing

/// The page over real sockets, and attacks from this machine and from other pages in the browser.
@Suite(.timeLimit(.minutes(20)))
struct PageServerTests {
    private let world: PageWorld

    init() throws { world = try PageWorld() }

    /// A server for a device with one list, and what it printed.
    private func serving(
        bodySeconds: Double = 10, framedBy: [String] = [],
        _ body: @Sendable (_ page: Page, _ device: PageDevice) async throws -> Void
    ) async throws {
        let device = try await world.device("phone", user: nil)
        try await device.act(.create(title: "Food"))
        let server = PageServer(device: device, bodySeconds: bodySeconds, framedBy: framedBy)
        let (addresses, address) = AsyncStream.makeStream(of: String.self)
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.run { address.yield($0) } }
            for await text in addresses {
                try await body(try Page(address: text), device)
                break
            }
            group.cancelAll()
            // Ends with a cancellation, as intended.
            try? await group.waitForAll()
        }
        try await device.close()
    }

    /// A page's address and its secret.
    private struct Page: Sendable {
        let origin, secret: String

        init(address: String) throws {
            let parts = address.split(separator: "#")
            origin = String(parts[0].dropLast())
            secret = String(try #require(parts.last))
        }

        func answer(
            _ path: String, method: HTTPMethod = .GET, secret shown: String? = nil,
            headers: [String: String] = [:], body: HTTPClientRequest.Body? = nil
        ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
            var request = HTTPClientRequest(url: origin + path)
            request.method = method
            if method == .POST {
                request.headers.add(name: "Content-Type", value: "application/json")
            }
            request.headers.add(name: "Authorization", value: "Bearer " + (shown ?? secret))
            for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
            request.body = body
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
            let bytes = try await answer.body.collect(upTo: 1 << 20)
            return (Int(answer.status.code), answer.headers, String(buffer: bytes))
        }

        func post(_ action: PageAction, _ headers: [String: String] = [:]) async throws -> Int {
            let json = try JSONEncoder().encode(PageRequest(action))
            return try await answer(
                "/api/actions", method: .POST, headers: headers, body: .bytes(json)
            ).status
        }
    }

    @Test func pageShowsStatesAndTakesActions() async throws {
        try await serving { page, device in
            var request = HTTPClientRequest(url: page.origin + "/api/states")
            request.headers.add(name: "Authorization", value: "Bearer " + page.secret)
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
            #expect(answer.headers.first(name: "Content-Type") == "text/event-stream")
            #expect(try await page.post(.add(text: "Milk")) == 200)
            #expect(try await page.post(.share) == 422)
            var text = ""
            for try await piece in answer.body {
                text += String(buffer: piece)
                if text.contains(#""name":"Milk""#) { break }
            }
            #expect(text.hasPrefix("data: {"))
            #expect(try await page.answer("/api/suggestions?text=butt").text.contains("Butter"))
            #expect(try await page.answer("/api/activity").text.contains("Milk added"))
            #expect(try await page.answer("/api/purchases?text=milk").text == #"{"lines":[]}"#)
        }
    }

    @Test func pictureIsTakenShownAndBounded() async throws {
        try await serving { page, device in
            try await device.act(.add(text: "Milk"))
            let milk = try #require(try await device.shown().row("Milk")).id
            let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]
            func send(
                _ bytes: [UInt8], type: String = "image/jpeg", secret: String? = nil
            ) async throws -> (status: Int, headers: HTTPHeaders, text: String) {
                try await page.answer(
                    "/api/picture?item=" + milk, method: .POST, secret: secret,
                    headers: ["Content-Type": type], body: .bytes(bytes))
            }
            #expect(try await page.answer("/api/picture?item=" + milk).status == 404)
            for (bytes, type, secret, status) in [
                (jpeg, "image/jpeg", "wrong", 401), (jpeg, "text/plain", nil, 415),
                (jpeg, "multipart/form-data", nil, 415),
                (Array("<svg/>".utf8), "image/svg+xml", nil, 422),
                (jpeg + [UInt8](repeating: 0, count: 5 << 20), "image/jpeg", nil, 413),
            ] as [([UInt8], String, String?, Int)] {
                #expect(try await send(bytes, type: type, secret: secret).status == status)
            }
            #expect(try await device.shown().row("Milk")?.picture == nil)
            #expect(try await send(jpeg).status == 200)
            var request = HTTPClientRequest(url: page.origin + "/api/picture?item=" + milk)
            request.headers.add(name: "Authorization", value: "Bearer " + page.secret)
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
            #expect(answer.headers.first(name: "Content-Type") == "image/jpeg")
            #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff")
            #expect(Array(buffer: try await answer.body.collect(upTo: 1 << 20)) == jpeg)
            #expect(
                try await page.answer("/api/picture?item=" + milk, secret: "").status == 401)
            #expect(try await page.post(.removePicture(itemID: milk)) == 200)
            #expect(try await page.answer("/api/picture?item=" + milk).status == 404)
        }
    }

    /// When a page is closed, nothing keeps waiting for it.
    @Test func closedPageIsNoLongerWatching() async throws {
        try await serving { page, device in
            var request = HTTPClientRequest(url: page.origin + "/api/states")
            request.headers.add(name: "Authorization", value: "Bearer " + page.secret)
            let client = HTTPClient(eventLoopGroupProvider: .singleton)
            let answer = try await client.execute(request, timeout: .seconds(20))
            for try await _ in answer.body { break }
            #expect(await device.watchingPages == 1)
            try await client.shutdown()
            while await device.watchingPages > 0 { await Task.yield() }
        }
    }

    @Test func requestWithoutTheSecretIsRefused() async throws {
        let other = try await world.device("other", user: nil)
        let foreign = PageServer(device: other).secret.text
        try await serving { page, device in
            for shown in ["", foreign, String(page.secret.dropLast()), page.secret + "0"] {
                for path in ["states", "activity", "purchases", "suggestions", "picture"] {
                    #expect(try await page.answer("/api/" + path, secret: shown).status == 401)
                }
                let json = try JSONEncoder().encode(PageRequest(.add(text: "Milk")))
                let answer = try await page.answer(
                    "/api/actions", method: .POST, secret: shown, body: .bytes(json))
                #expect(answer.status == 401)
                #expect(
                    answer.text
                        == "The address lacks the app's secret; open the whole one that the app "
                        + "printed.\n")
            }
            // Neither a cookie nor the address itself gives access.
            let answers = [
                try await page.answer(
                    "/api/activity", secret: "", headers: ["Cookie": "secret=\(page.secret)"]),
                try await page.answer("/api/activity?secret=\(page.secret)", secret: ""),
            ]
            #expect(answers.map(\.status) == [401, 401])
            #expect(try await device.shown().rows.isEmpty)
        }
        try await other.close()
    }

    /// The router treats differently spelled paths as the same.
    @Test func otherSpellingsOfPathsNeedSecretToo() async throws {
        try await serving { page, device in
            let json = try JSONEncoder().encode(PageRequest(.add(text: "Milk")))
            for start in ["//api/", "///api//", "/./api/", "/%61pi/", "/API/", "/x/../api/"] {
                let seen = try await page.answer(start + "activity", secret: "")
                #expect(
                    [401, 404].contains(seen.status) && !seen.text.contains("Food"), "\(start)")
                let done = try await page.answer(
                    start + "actions", method: .POST, secret: "", body: .bytes(json))
                #expect([401, 404].contains(done.status), "\(start)")
            }
            #expect(try await page.answer("//api/activity", secret: "").status == 401)
            #expect(try await device.shown().rows.isEmpty)
        }
    }

    /// A foreign host name that resolves to this machine, and a page of another origin in the same browser.
    @Test func foreignHostAndOriginAreRefused() async throws {
        try await serving { page, device in
            let host = String(page.origin.dropFirst("http://".count))
            let foreign = [
                ["Host": "shopping.example.org"], ["Host": "127.0.0.1"], ["Host": "127.0.0.1:1"],
                ["Host": "127.0.0.1.example.org:80"],
                ["Origin": "https://example.org"], ["Origin": "null"],
                ["Origin": "http://127.0.0.1:1"], ["Sec-Fetch-Site": "cross-site"],
                ["Sec-Fetch-Site": "same-site"],
            ]
            for headers in foreign {
                #expect(try await page.post(.add(text: "Milk"), headers) == 403, "\(headers)")
                let answer = try await page.answer("/api/activity", headers: headers)
                #expect(answer.status == 403 && !answer.text.contains("Food"), "\(headers)")
                #expect(answer.headers.first(name: "Access-Control-Allow-Origin") == nil)
            }
            let asked = try await page.answer(
                "/api/actions", method: .OPTIONS,
                headers: [
                    "Origin": "https://example.org", "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization",
                ])
            #expect(asked.status == 403)
            #expect(!asked.headers.contains { $0.name.lowercased().hasPrefix("access-control") })
            #expect(try await device.shown().rows.isEmpty)
            let own = ["Origin": page.origin, "Host": host, "Sec-Fetch-Site": "same-origin"]
            #expect(try await page.post(.add(text: "Milk"), own) == 200)
        }
    }

    @Test func onlyJSONPostPerformsActions() async throws {
        try await serving { page, device in
            for method in [HTTPMethod.GET, .HEAD, .PUT, .DELETE] {
                let json = try JSONEncoder().encode(PageRequest(.add(text: "Milk")))
                let answer = try await page.answer(
                    "/api/actions?action=%7B%7D", method: method,
                    body: method == .GET || method == .HEAD ? nil : .bytes(json))
                #expect([404, 405].contains(answer.status))
            }
            // What a form of another page could send.
            #expect(
                try await page.post(.add(text: "Milk"), ["Content-Type": "text/plain"]) == 415)
            #expect(try await device.shown().rows.isEmpty)
        }
    }

    @Test func oversizedSlowAndMalformedBodiesAreRefused() async throws {
        try await serving(bodySeconds: 0.2) { page, device in
            let large = HTTPClientRequest.Body.bytes(
                [UInt8](repeating: 32, count: PageServer.bodyBytes + 1))
            #expect(
                try await page.answer("/api/actions", method: .POST, body: large).status == 413)
            for text in [
                "", "{}", #"{"action":{"buy":{}}}"#, "[" + String(repeating: "[", count: 9_000),
            ] {
                let answer = try await page.answer(
                    "/api/actions", method: .POST, body: .bytes(ByteBuffer(string: text)))
                #expect(answer.status == 400, "\(text.prefix(30))")
            }
            let (silence, end) = AsyncStream.makeStream(of: ByteBuffer.self)
            let slow = try await page.answer(
                "/api/actions", method: .POST, body: .stream(silence, length: .known(Int64(100))))
            #expect(slow.status == 408)
            end.finish()
            #expect(try await device.shown().rows.isEmpty)
        }
    }

    @Test func onlyTheProgramsFilesAreServed() async throws {
        try await serving { page, _ in
            let paths = [
                "/../Package.swift", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                "//etc/passwd", "/page.js/..", "/style.css%00", "/.git/config", "/api", "/api/",
            ]
            for path in paths {
                #expect(try await page.answer(path).status == 404, "\(path)")
            }
            let html = try await page.answer("/", secret: "")
            #expect(html.status == 200 && !html.text.contains(page.secret))
            let policy = try #require(html.headers.first(name: "Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'self';"))
            #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
            #expect(html.headers.first(name: "Referrer-Policy") == "no-referrer")
            #expect(html.headers.first(name: "X-Content-Type-Options") == "nosniff")
            // No external resources, no inline code.
            for path in [
                "/", "/page.js", "/rows.js", "/sheets.js", "/pictures.js", "/service.js",
                "/elements.js",
            ] {
                let text = try await page.answer(path, secret: "").text
                for banned in ["https://", "<script>", "style=", "innerHTML", "onclick", "eval("] {
                    #expect(!text.contains(banned), "\(path) \(banned)")
                }
            }
        }
    }

    @Test func onlyNamedOriginsMayFrameThePage() async throws {
        try await serving(framedBy: ["http://127.0.0.1:1"]) { page, _ in
            let policy = try await page.answer("/").headers.first(name: "Content-Security-Policy")
            #expect(policy?.hasSuffix("frame-ancestors http://127.0.0.1:1") == true)
        }
    }

    @Test func secretIsLongAndNewEachTime() async throws {
        let device = try await world.device("phone", user: nil)
        let secrets = Set((0..<100).map { _ in PageServer(device: device).secret.text })
        #expect(secrets.count == 100 && secrets.allSatisfy { $0.count == 32 })
        try await device.close()
    }
}

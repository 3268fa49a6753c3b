import Foundation
import TestProcesses
import Testing

/// A separate headless Chromium, controlled by the W3C's WebDriver protocol.
///
/// Pages are asynchronous: everything here waits for a condition in the page, and the browser
/// gives up after ``patienceSeconds``.
final class Browser {
    static let patienceSeconds = 30
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"

    private let driver: ChildProcess
    /// Kept open, since the driver writes to it as long as it runs.
    private let output: FileHandle
    private let connection: RawConnection
    private var session = ""

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter folder: for the browser's profile.
    init(width: Int, height: Int, folder: TemporaryFolder) throws {
        let pipe = Pipe()
        driver = try ChildProcess(
            ["chromedriver", "--port=0"], output: pipe.fileHandleForWriting,
            environment: ["HOME": folder.path, "TMPDIR": folder.path])
        try pipe.fileHandleForWriting.close()
        output = pipe.fileHandleForReading
        var port: Int?
        while port == nil {
            let line = try output.readLine()
            guard !line.isEmpty else { throw Failure(description: "chromedriver did not start.") }
            port = line.firstMatch(of: /started successfully on port (\d+)/).flatMap { Int($0.1) }
        }
        connection = try RawConnection(port: port ?? 0)
        // Root has no sandbox, and a container has little shared memory.
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--user-data-dir=\(folder.path)/profile", "--disable-background-networking",
        ]
        let answer = try ask(
            "POST", "/session",
            [
                "capabilities": [
                    "alwaysMatch": [
                        "browserName": "chrome",
                        "timeouts": ["script": Self.patienceSeconds * 1_000],
                        "goog:chromeOptions": ["args": arguments],
                    ]
                ]
            ])
        let opened = answer as? [String: Any]
        session = "/session/" + (try #require(opened?["sessionId"] as? String))
        try command(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    deinit {
        if !session.isEmpty {
            // A browser that does not answer ends with its driver.
            _ = try? ask("DELETE", session)
        }
        driver.end(with: SIGKILL)
    }

    // MARK: The protocol

    @discardableResult
    private func ask(_ method: String, _ path: String, _ body: [String: Any] = [:]) throws -> Any? {
        let json =
            method == "POST"
            ? String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self) : ""
        try connection.send(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"
        )
        let answer = connection.readAnswer()
        let value = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        guard answer.status == 200 else {
            let error = value?["value"] as? [String: Any]
            throw Failure(description: "\(path): \(error?["message"] ?? answer.body)")
        }
        return value?["value"]
    }

    /// Runs a command of the Chrome DevTools Protocol.
    @discardableResult
    func command(_ name: String, _ parameters: [String: Any]) throws -> [String: Any] {
        let answer = try ask(
            "POST", session + "/goog/cdp/execute", ["cmd": name, "params": parameters])
        return answer as? [String: Any] ?? [:]
    }

    func open(_ address: String) throws { try ask("POST", session + "/url", ["url": address]) }

    /// Runs a script in the page.
    ///
    /// - Returns: its result.
    @discardableResult
    func run(_ script: String, _ arguments: [Any] = []) throws -> Any? {
        try ask("POST", session + "/execute/sync", ["script": script, "args": arguments])
    }

    // MARK: User actions

    /// Enters the frame with a title, or leaves all frames.
    func enterFrame(titled title: String?) throws {
        try ask("POST", session + "/frame", ["id": NSNull()])
        guard let title else { return }
        try wait("document.querySelector(`iframe[title='\(title)']`)")
        let frame = try element("iframe[title='\(title)']")
        try ask("POST", session + "/frame", ["id": [Self.elementKey: frame]])
    }

    private func element(_ selector: String) throws -> String {
        let found = try ask(
            "POST", session + "/element", ["using": "css selector", "value": selector])
        return try #require((found as? [String: Any])?[Self.elementKey] as? String)
    }

    /// Scrolls the element of a selector away from the bars at the page's edges, and presses it.
    func press(_ selector: String) throws {
        try wait("document.querySelector(`\(selector)`)?.checkVisibility()")
        try run("document.querySelector(`\(selector)`).scrollIntoView({ block: 'center' })")
        try ask("POST", session + "/element/\(try element(selector))/click")
    }

    func type(_ text: String, into selector: String) throws {
        try wait("document.querySelector(`\(selector)`)?.checkVisibility()")
        try ask("POST", session + "/element/\(try element(selector))/value", ["text": text])
    }

    /// Presses a key wherever the focus is.
    func press(key: String) throws {
        let keys = ["keyDown", "keyUp"].map { ["type": $0, "value": key] }
        try ask(
            "POST", session + "/actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": keys]]])
    }

    /// Waits until an expression is true in the page; checked repeatedly.
    func wait(_ condition: String) throws {
        let script = """
            const done = arguments[arguments.length - 1];
            (function look() { if (\(condition)) done(true); else setTimeout(look, 10); })();
            """
        do {
            try ask("POST", session + "/execute/async", ["script": script, "args": []])
        } catch {
            // The text only adds to the failure, which is thrown with or without it.
            let text = try? run("return document.body.innerText")
            throw Failure(description: "Not so: \(condition)\n\(text ?? "")\n\(error)")
        }
    }

    /// A control's label for assistive technology, as the browser computes it.
    func labels(of selector: String) throws -> [(label: String, role: String, html: String)] {
        let found = try ask(
            "POST", session + "/elements", ["using": "css selector", "value": selector])
        let all = found as? [[String: Any]] ?? []
        return try all.compactMap { $0[Self.elementKey] as? String }.map { id in
            let path = session + "/element/\(id)"
            return (
                try ask("GET", path + "/computedlabel") as? String ?? "",
                try ask("GET", path + "/computedrole") as? String ?? "",
                try run("return arguments[0].outerHTML.slice(0, 120)", [[Self.elementKey: id]])
                    as? String ?? ""
            )
        }
    }

    /// A screenshot as PNG.
    func picture() throws -> Data {
        let answer = try command("Page.captureScreenshot", ["format": "png"])
        return try #require((answer["data"] as? String).flatMap { Data(base64Encoded: $0) })
    }
}

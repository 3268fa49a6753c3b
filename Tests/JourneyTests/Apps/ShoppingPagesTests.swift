import Foundation
import TestProcesses
import Testing

/// The shopping app's pages in a real browser: three devices of two people, side by side.
///
/// With `STRATUS_PICTURES` naming a folder, pictures of the main states are written there.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ShoppingPagesTests {
    private let folder: TemporaryFolder
    private let demo: ChildProcess
    private let output: FileHandle
    private let address: String

    private let phone = "Alice’s phone"
    private let tablet = "Alice’s tablet"
    private let bobs = "Bob’s phone"

    init() throws {
        folder = try TemporaryFolder()
        let pipe = Pipe()
        demo = try ChildProcess(
            [BuiltProgram.named("shopping").path, "demo", "--web"],
            output: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        output = pipe.fileHandleForReading
        let line = try output.readLine()
        address = String(try #require(line.split(separator: " ").last))
    }

    private func keep(_ picture: Data, _ name: String) throws {
        #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        guard let folder = ProcessInfo.processInfo.environment["STRATUS_PICTURES"] else { return }
        try picture.write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }

    /// A row whose name is a text.
    private func row(_ name: String) -> String {
        "[...document.querySelectorAll('.row')].find((row) => row.querySelector('.name').textContent === '\(name)')"
    }

    private func isTicked(_ name: String) -> String {
        "\(row(name))?.querySelector('input').checked"
    }

    private let isInStep = "document.getElementById('pill').dataset.kind === 'synced'"

    private func tick(_ name: String, in browser: Browser) throws {
        try browser.wait(row(name))
        let id = try #require(try browser.run("return \(row(name)).dataset.key") as? String)
        try browser.press(".row[data-key='\(id)'] label")
    }

    private func add(_ text: String, in browser: Browser) throws {
        try browser.type(text + "\u{E007}", into: "#add-text")
        try browser.wait("document.getElementById('add-text').value === ''")
    }

    private func setOnline(_ isOnline: Bool, in browser: Browser) throws {
        try browser.press("#pill")
        try browser.press("#online")
        try browser.wait(
            "(document.getElementById('pill').dataset.kind === 'offline') === \(!isOnline)")
        try browser.press("#sync-sheet .close")
    }

    @Test func sharedListMergesOfflineChangesAndIsDeleted() throws {
        let browser = try Browser(width: 1_320, height: 900, folder: folder)
        try browser.open(address)
        for device in [phone, tablet, bobs] {
            try browser.enterFrame(titled: device)
            try browser.wait("\(row("Sourdough")) && \(isInStep)")
        }
        // A new list is created, filled and shared.
        try browser.enterFrame(titled: phone)
        try browser.press("#back")
        try browser.type("<img src=x onerror=document.title=1>\u{E007}", into: "#new-title")
        try browser.wait("document.querySelector('h1').textContent.startsWith('<img src')")
        try add("Crisps; <b>Lemonade</b>", in: browser)
        try browser.wait(row("<b>Lemonade</b>"))
        #expect(
            try browser.run("return document.images.length + document.querySelectorAll('b').length")
                as? Int == 0)
        try browser.press("#people")
        try browser.press("#share")
        try browser.type("bob@example.org\u{E007}", into: "#invite-address")
        try browser.wait("document.querySelectorAll('#participants li').length === 2")
        try browser.wait("document.getElementById('link').value.startsWith('http')")
        let link = try #require(
            try browser.run("return document.getElementById('link').value") as? String)
        try browser.press("#share-sheet .close")
        // Bob accepts, and Alice sees the item that he ticks.
        try browser.enterFrame(titled: bobs)
        try browser.press("#back")
        try browser.type(link + "\u{E007}", into: "#join-link")
        try tick("Crisps", in: browser)
        try browser.enterFrame(titled: phone)
        try browser.wait(isTicked("Crisps"))
        try browser.wait("\(row("Crisps")).querySelector('.mark').textContent.includes('Bob')")
        // Both are offline: each changes the list, and afterwards both have all changes.
        try setOnline(false, in: browser)
        try add("Ice", in: browser)
        try browser.wait("document.getElementById('pill-text').textContent === 'Offline · 1'")
        try browser.enterFrame(titled: bobs)
        try setOnline(false, in: browser)
        try add("Napkins", in: browser)
        try tick("Crisps", in: browser)
        for device in [phone, bobs] {
            try browser.enterFrame(titled: device)
            #expect(try browser.run("return document.querySelectorAll('.row').length") as? Int == 3)
        }
        for device in [phone, bobs] {
            try browser.enterFrame(titled: device)
            try setOnline(true, in: browser)
        }
        for device in [phone, bobs] {
            try browser.enterFrame(titled: device)
            try browser.wait(
                "\(row("Ice")) && \(row("Napkins")) && !\(isTicked("Crisps")) && \(isInStep)")
        }
        // Bob is removed from the list.
        try browser.enterFrame(titled: phone)
        try browser.press("#people")
        try browser.press("#participants li:nth-child(2) button")
        try browser.wait("document.getElementById('not-shared').checkVisibility()")
        try browser.enterFrame(titled: bobs)
        try browser.wait(
            "document.getElementById('toast').textContent.startsWith('You were removed from')")
        try browser.wait("document.querySelectorAll('#lists li').length === 1")
        #expect(demo.end(with: SIGTERM) == 0)
    }

    /// A picture is chosen on one page, shown on the other one with alternative text, and removed.
    @Test func pictureOfItemIsShownToOtherParticipant() throws {
        let file = folder.path + "/picture.png"
        let pixel = Data(
            base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                + "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        try #require(pixel).write(to: URL(fileURLWithPath: file))
        let browser = try Browser(width: 1_320, height: 900, folder: folder)
        try browser.open(address)
        try browser.enterFrame(titled: phone)
        try browser.wait("\(row("Eggs")) && \(isInStep)")
        let id = try #require(
            try browser.run("return \(row("Eggs")).dataset.key") as? String)
        try browser.press(".row[data-key='\(id)'] .more")
        #expect(
            try browser.run("return document.getElementById('item-no-picture').hidden") as? Bool
                == true)
        try browser.type(file, into: "#item-file")
        let alternative = "?.querySelector('img')?.alt === 'Picture of Eggs'"
        try browser.wait("document.getElementById('item-picture')\(alternative)")
        for device in [phone, bobs] {
            try browser.enterFrame(titled: device)
            // It is not only in the page, but loaded.
            try browser.wait(
                "\(row("Eggs"))\(alternative) && \(row("Eggs")).querySelector('img').naturalWidth === 1"
            )
        }
        try browser.enterFrame(titled: phone)
        try browser.press("#item-no-picture")
        try browser.wait("!document.getElementById('item-picture').firstElementChild")
        try browser.enterFrame(titled: bobs)
        try browser.wait("document.images.length === 0")
        // A file that is not a picture is reported and not sent.
        let text = folder.path + "/text.png"
        try Data("a text".utf8).write(to: URL(fileURLWithPath: text))
        try browser.enterFrame(titled: phone)
        try browser.type(text, into: "#item-file")
        try browser.wait(
            "document.querySelector('#item-sheet .outcome.bad')?.textContent.includes('not a picture')"
        )
        #expect(demo.end(with: SIGTERM) == 0)
    }

    /// While shopping, others' additions wait, and the focus does not move.
    @Test func additionsOfOthersWaitAndKeepFocusWhileShopping() throws {
        let browser = try Browser(width: 1_320, height: 900, folder: folder)
        try browser.open(address)
        try browser.enterFrame(titled: phone)
        try browser.wait("\(row("Eggs")) && \(isInStep)")
        try browser.press("#shopping")
        try setOnline(false, in: browser)
        try browser.enterFrame(titled: bobs)
        try add("Dishwasher tablets", in: browser)
        try tick("Bananas", in: browser)
        try browser.wait(isInStep)
        try browser.enterFrame(titled: phone)
        // They arrive while the page has the focus, which another frame would take.
        try browser.run("\(row("Tomatoes")).querySelector('input').focus()")
        try browser.run("document.getElementById('online').click()")
        try browser.wait(
            "document.querySelectorAll('.notice').length === 1 && \(isTicked("Bananas"))")
        #expect(
            try browser.run(
                "return document.activeElement === \(row("Tomatoes")).querySelector('input')")
                as? Bool == true)
        #expect(
            try browser.run("return \(row("Dishwasher tablets")) === undefined") as? Bool == true)
        try browser.wait(
            "document.getElementById('live').textContent.includes('ticked by Bob')")
        try keep(try browser.picture(), "three-devices")
        try browser.press(".notice")
        try browser.wait(row("Dishwasher tablets"))
        #expect(demo.end(with: SIGTERM) == 0)
    }

    /// Every control has a label, the keyboard reaches all of them in order, and the text has enough contrast, light
    /// and dark.
    @Test func pageIsAccessible() throws {
        let browser = try Browser(width: 390, height: 844, folder: folder)
        try browser.open(address)
        try browser.wait("document.querySelector(`iframe[title='\(bobs)']`)")
        func source(of device: String) throws -> String {
            let script = "return document.querySelector(`iframe[title='\(device)']`).src"
            return try #require(try browser.run(script) as? String)
        }
        let (own, other) = (try source(of: phone), try source(of: bobs))
        try browser.open(other)
        try tick("Bananas", in: browser)
        try add("Cat food", in: browser)
        try browser.wait("\(row("Cat food")) && \(isInStep)")
        try browser.open(own)
        try browser.wait("\(row("Cat food")) && \(isTicked("Bananas")) && \(isInStep)")
        #expect(try browser.run("return location.hash + location.search") as? String == "")
        for scheme in ["light", "dark"] {
            try look(browser, scheme)
            try check(browser, "list-\(scheme)")
        }
        #expect(try tabStops(in: browser) == [])
        for scheme in ["light", "dark"] {
            try look(browser, scheme)
            for (opener, sheet) in [
                ("#people", "share-sheet"), ("#pill", "sync-sheet"), ("#more", "list-sheet"),
                (".row .more", "item-sheet"),
            ] {
                try browser.press(opener)
                try check(browser, "\(sheet)-\(scheme)", below: "#" + sheet)
                try browser.press("#\(sheet) .close")
            }
            try browser.press("#back")
            try browser.wait("document.querySelector('#lists button')")
            try check(browser, "lists-\(scheme)")
            try browser.press("#lists button")
            try browser.wait(row("Eggs"))
        }
        try browser.press("#shopping")
        try browser.wait("document.documentElement.dataset.mode === 'shopping'")
        try browser.open(other)
        try add("Dishwasher tablets", in: browser)
        try browser.wait("\(row("Dishwasher tablets")) && \(isInStep)")
        try browser.open(own)
        for scheme in ["light", "dark"] {
            try look(browser, scheme)
            try browser.wait("document.querySelector('.notice') && \(isInStep)")
            try check(browser, "shop-\(scheme)")
        }
        #expect(demo.end(with: SIGTERM) == 0)
    }

    private func look(_ browser: Browser, _ scheme: String) throws {
        try browser.command(
            "Emulation.setEmulatedMedia",
            [
                "features": [
                    ["name": "prefers-color-scheme", "value": scheme],
                    ["name": "prefers-reduced-motion", "value": "reduce"],
                ]
            ])
    }

    private func check(_ browser: Browser, _ name: String, below root: String = "body") throws {
        try keep(try browser.picture(), name)
        let controls = ["button", "input", "select", "textarea", "a"]
            .map { "\(root) \($0)" }.joined(separator: ",")
        // The labels of visible controls, as a screen reader says them.
        try browser.run(
            """
            for (const control of document.querySelectorAll('[data-shown]'))
              control.removeAttribute('data-shown');
            for (const control of document.querySelectorAll(`\(controls)`))
              control.toggleAttribute('data-shown', control.checkVisibility());
            """)
        for (label, role, html) in try browser.labels(of: "[data-shown]") {
            #expect(!label.isEmpty && !["generic", "none"].contains(role), "\(name): \(html)")
        }
        let faint = try browser.run(Self.contrast, [root]) as? [String]
        #expect(faint == [], "\(name)")
    }

    /// The controls that the Tab key does not reach, or reaches in another order than on the page.
    private func tabStops(in browser: Browser) throws -> [String] {
        try browser.run("document.body.tabIndex = -1; document.body.focus();")
        let wanted =
            try browser.run(
                """
                window.stops = [...document.querySelectorAll('a, button, input, select, textarea')].filter((control) =>
                  control.checkVisibility() && !control.disabled && !control.closest('dialog'));
                return window.stops.length;
                """) as? Int
        var missed: [String] = []
        for place in 0..<(wanted ?? 0) {
            try browser.press(key: "\u{E004}")
            let isThere = try browser.run(
                "return document.activeElement === window.stops[\(place)]")
            if isThere as? Bool != true {
                missed.append(
                    try browser.run("return window.stops[\(place)].outerHTML.slice(0, 80)")
                        as? String
                        ?? "")
            }
        }
        return missed
    }

    /// Texts whose contrast with their background is below WCAG's AA: 4.5, or 3 for large text.
    private static let contrast = """
        const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
        const rgba = (text) => {
          pen.clearRect(0, 0, 1, 1); pen.fillStyle = text; pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data];
        };
        const behind = (node) => {
          for (let at = node; at; at = at.parentElement) {
            const colour = rgba(getComputedStyle(at).backgroundColor);
            if (colour[3] > 250) return colour;
          }
          return rgba(getComputedStyle(document.documentElement).backgroundColor);
        };
        const light = (colour) => colour.slice(0, 3).map((part) => {
          const share = part / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        }).reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
        const faint = [];
        const texts = document.createTreeWalker(document.querySelector(arguments[0]), NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const holder = texts.currentNode.parentElement;
          if (!texts.currentNode.data.trim() || !holder.checkVisibility() || holder.closest('.unseen, .skip, script')) continue;
          if (holder.closest('dialog') !== document.querySelector('dialog[open]')) continue;
          const style = getComputedStyle(holder);
          const [one, other] = [light(rgba(style.color)), light(behind(holder))].sort((a, b) => b - a);
          const ratio = (one + 0.05) / (other + 0.05);
          const size = parseFloat(style.fontSize);
          const isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
          if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${texts.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
        }
        return faint;
        """
}

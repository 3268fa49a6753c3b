import Testing

/// What a newcomer sees first: the version, the examples, the picture.
@Suite struct ReleaseTests {
    @Test func versionIsTheSameEverywhere() throws {
        let version = try Repository.text("VERSION").split(separator: "\n").joined()
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
        let sections = try Repository.text("CHANGELOG.md").matches(of: /\n## (\S+)/)
        #expect(sections.first.map { String($0.1) } == version)
        #expect(
            try Repository.text("Sources/Server/stratus/Stratus.swift")
                .contains("version: \"\(version)\""))
        #expect(try Repository.text("README.md").contains("from: \"\(version)\""))
    }

    /// The files of the example packages are targets of this package, so that compile errors are noticed here.
    @Test func examplesAreBuiltHere() throws {
        let manifest = try Repository.text("Package.swift")
        let packages = Repository.paths(below: "Examples").filter {
            $0.hasSuffix("/Package.swift")
        }
        #expect(packages.count == 4)
        for package in packages {
            let folder = package.dropLast("/Package.swift".count)
            let files = Repository.paths(below: String(folder)).filter {
                $0.hasSuffix(".swift") && $0 != package
            }
            #expect(Set(files.map { $0.split(separator: "/").dropLast() }).count == 1)
            let place = try #require(files.first?.split(separator: "/").dropLast())
            #expect(manifest.contains("path: \"\(place.joined(separator: "/"))\""))
        }
    }

    /// In the widest font that browsers use for `system-ui`, a letter takes six tenths of the font size on average.
    @Test func textsOfDiagramFitIntoTheirBoxes() throws {
        let picture = try Repository.text("Documentation/life-of-a-change.svg")
        func numbers(_ pattern: Regex<AnyRegexOutput>) -> [[Double]] {
            picture.matches(of: pattern).map { match in
                match.output.dropFirst().compactMap { $0.substring.flatMap { Double($0) } }
            }
        }
        let boxes = numbers(
            try Regex(#"<rect class="box" x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)""#))
        #expect(boxes.count == 3)
        let size = try #require(
            picture.firstMatch(of: /font-size="(\d+)"/).flatMap { Double($0.1) })
        var inBoxes = 0
        for match in picture.matches(
            of: /<text class="\w+" x="(\d+)" y="(\d+)">([^<]+)<\/text>/)
        {
            let (x, y) = (Double(match.1) ?? 0, Double(match.2) ?? 0)
            let end = x + Double(match.3.count) * size * 0.6
            let box = boxes.first {
                x >= $0[0] && x <= $0[0] + $0[2] && y >= $0[1] && y <= $0[1] + $0[3]
            }
            if let box {
                inBoxes += 1
                #expect(end <= box[0] + box[2] - 8, "\(match.3)")
            } else {
                #expect(!boxes.contains { x < $0[0] && end > $0[0] && y > $0[1] }, "\(match.3)")
            }
        }
        #expect(inBoxes > 10)
    }
}

import Foundation
import Testing

/// What the sources of the service promise of its endpoints: that rules get what they need as arguments,
/// and that nothing particular to an endpoint stands elsewhere.
@Suite struct EndpointSourceTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/Server/Service")

    /// The code of every source file by its path in the module, without comments.
    private static func sources() throws -> [String: String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") }
        return try Dictionary(
            uniqueKeysWithValues: paths.map { path in
                let text = try String(
                    contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
                let code = text.split(separator: "\n")
                    .filter { !$0.drop { $0 == " " }.hasPrefix("//") }
                return (path, code.joined(separator: "\n"))
            })
    }

    @Test func onlyEndpointsAndPipelineUseServiceComponents() throws {
        let pipeline: Set = [
            "Requests/FaultMiddleware.swift", "Requests/RequestPipeline.swift",
            "Requests/ServedEndpoint.swift", "Requests/ServiceComponents.swift",
            "Requests/CloudService.swift", "Requests/OwnRequests.swift",
        ]
        let sources = try Self.sources()
        #expect(sources.count > 100)
        let others = sources.filter { path, code in
            code.contains("ServiceComponents") && !code.contains(": ServedEndpoint {")
                && !pipeline.contains(path)
        }
        #expect(others.keys.sorted() == [])
    }

    @Test func onlyCloudServiceFilesNameCloudService() throws {
        let others = try Self.sources().filter { path, code in
            code.contains("CloudService") && !path.contains("/CloudService")
        }
        #expect(others.keys.sorted() == [])
    }

    @Test func servedEndpointHasNoDefaultMembers() throws {
        let defaults = try Self.sources().filter { $1.contains("extension ServedEndpoint") }
        #expect(defaults.keys.sorted() == [])
    }

    @Test func everyEndpointDeclaresAllMembersInOneExtension() throws {
        let members = [
            "static let access", "static let endsSession", "static let isRepeatable",
            "static let expiredTokens",
            "static func cost(", "static func zoneNames(", "static func link(",
        ]
        var endpoints = 0
        for (path, code) in try Self.sources() {
            let parts = code.components(separatedBy: ": ServedEndpoint {").dropFirst()
            for part in parts {
                endpoints += 1
                let body = part.components(separatedBy: "\n}").first ?? ""
                for member in members { #expect(body.contains(member), "\(path): \(member)") }
            }
        }
        #expect(endpoints >= 29)
    }
}

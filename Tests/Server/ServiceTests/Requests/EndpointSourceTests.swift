import Foundation
import Testing

/// Rules for the sources of the service's endpoints: rules get what they need as arguments, and nothing specific
/// to an endpoint is elsewhere.
@Suite struct EndpointSourceTests {
    /// The files that build the service and pass a request through it.
    private static let pipeline: Set = [
        "Requests/ArrivingRequest.swift", "Requests/CloudService.swift",
        "Requests/FaultMiddleware.swift", "Requests/OwnRequests.swift",
        "Requests/RequestPipeline.swift", "Requests/ServedEndpoint.swift",
        "Requests/ServiceComponents.swift",
    ]

    @Test func onlyEndpointsAndPipelineUseServiceComponents() throws {
        let sources = try SourceCode.files(in: "Server/Service")
        #expect(sources.count > 100)
        let others = sources.filter { path, code in
            let rest = code.replacing("static func answer(_ call: EndpointCall<Self>)", with: "")
            return ["ServiceComponents", "EndpointCall"].contains { rest.contains($0) }
                && !Self.pipeline.contains(path)
        }
        #expect(others.keys.sorted() == [])
    }

    /// An endpoint takes single parts from its call, and passes nothing on that has them all.
    @Test func noEndpointPassesComponentsOn() throws {
        let others = try SourceCode.files(in: "Server/Service").filter { path, code in
            code.replacing("call.components.", with: "").contains(/\bcomponents\b/)
                && !Self.pipeline.contains(path) && !path.contains("/CloudService")
        }
        #expect(others.keys.sorted() == [])
    }

    @Test func onlyCloudServiceFilesNameCloudService() throws {
        let others = try SourceCode.files(in: "Server/Service").filter { path, code in
            code.contains("CloudService") && !path.contains("/CloudService")
        }
        #expect(others.keys.sorted() == [])
    }

    /// Every other rule gets the limits, the world and the logger that it needs.
    @Test func fewFilesGetAllSettings() throws {
        let files = try SourceCode.files(in: "Server/Service").filter {
            $1.contains(": ServiceSettings")
        }
        #expect(
            files.keys.sorted() == [
                "Accounts/Accounts.swift", "Accounts/SignInCounter.swift",
                "Notifications/Notifications.swift", "Requests/CloudService.swift",
                "Requests/ServiceComponents.swift",
            ])
    }

    @Test func servedEndpointHasNoDefaultMembers() throws {
        let defaults = try SourceCode.files(in: "Server/Service").filter {
            $1.contains("extension ServedEndpoint")
        }
        #expect(defaults.keys.sorted() == [])
    }

    /// What an endpoint does in the shared database is in its own file, or in the one beside it.
    @Test func sharedAnswersAreInFilesOfTheirEndpoints() throws {
        let declaring = try SourceCode.files(in: "Server/Service").filter {
            $1.contains("func sharedAnswer(")
        }
        #expect(declaring.count == 8)
        for (path, code) in declaring {
            let fileName = path.split(separator: "/").last ?? ""
            let endpoint = fileName.prefix { $0 != "." && $0 != "+" }
            #expect(code.contains("extension \(endpoint) {"), "\(path)")
        }
    }

    @Test func everyEndpointHasRulesWithoutDefaultValues() throws {
        let sources = try SourceCode.files(in: "Server/Service")
        let endpoints = sources.values.flatMap {
            $0.components(separatedBy: ": ServedEndpoint {").dropFirst()
        }
        #expect(endpoints.count >= 29)
        for endpoint in endpoints {
            let body = endpoint.components(separatedBy: "\n}").first ?? ""
            #expect(body.contains("static let rules = EndpointRules<Self>("))
        }
        // No initializer has defaults and no member a value, so that a new endpoint has to state everything.
        let rules = try #require(
            sources["Requests/ServedEndpoint.swift"]?
                .components(separatedBy: "struct EndpointRules<").last?
                .components(separatedBy: "\n}").first)
        #expect(!rules.contains("init(") && !rules.contains(" = ") && !rules.contains("var "))
    }
}

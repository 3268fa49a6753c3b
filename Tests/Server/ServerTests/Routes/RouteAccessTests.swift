import Hummingbird
import HummingbirdTesting
import StratusService
import Testing

@testable import StratusServer

/// Calls every route as every caller, and checks what the caller may read and do.
@Suite struct RouteAccessTests {
    /// A route that is added without a row in the table fails.
    @Test func accessTableListsEveryRoute() throws {
        let routes = try AccessStage.routes(AccessStage.service()).router().routes
            .map { "\($0.method) \($0.path)" }
        let rows = Set(AccessTable.rows.map(\.route))
        #expect(Set(routes).subtracting(rows).sorted() == [])
        #expect(rows.subtracting(routes).sorted() == [])
    }

    @Test(arguments: AccessTable.rows)
    func answersMatchTheAccessTable(_ row: AccessRow) async throws {
        // In the order of the callers, so that the owner's request comes last.
        let service = AccessStage.service()
        let application = Application(router: try AccessStage.routes(service).router())
        let answers = try await application.test(.router) { client in
            let stage = try await AccessStage(service, client)
            var answers: [String] = []
            for caller in AccessCaller.allCases {
                if caller == .owner {
                    // The other callers' requests changed none of the owner's data.
                    let data = try await stage.ownersData()
                    #expect(data == AccessTable.ownersData, "\(row)")
                }
                answers.append(try await stage.ask(row, as: caller))
            }
            return answers
        }
        #expect(answers == row.expected, "\(row)")
    }
}

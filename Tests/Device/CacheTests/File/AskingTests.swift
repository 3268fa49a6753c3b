import GRDB
import StratusClient
import Testing

@testable import StratusCache

/// Questions to the process that syncs, in a file that an app of an earlier version has open too: it asks and answers about
/// the whole file.
@Suite struct AskingTests {
    private static let scopes = [CKDatabase.Scope.private, .shared]

    private func flag(_ name: String, of file: CacheFile) throws -> String? {
        try file.read { try CacheFlag.value(named: name, ofDatabase: 0, $0) }
    }

    private func set(_ name: String, _ value: String?, of file: CacheFile) throws {
        try file.write { try CacheFlag.set(value, named: name, ofDatabase: 0, $0) }
    }

    @Test func processOfAnEarlierVersionAnswersQuestionsAboutADatabase() throws {
        let phone = try Device(RealService())
        let file = phone.cache.file
        for scope in Self.scopes {
            let number = try file.askForSync(of: scope)
            #expect(try file.answerToSync(number, of: scope) == nil)
            try set("syncAnswered", try flag("syncAsked", of: file) ?? "0", of: file)
            #expect(try file.answerToSync(number, of: scope) == "")
        }
    }

    @Test func questionOfAnEarlierVersionIsAnsweredByAllDatabases() throws {
        let phone = try Device(RealService())
        let file = phone.cache.file
        for scope in Self.scopes {
            let number = try file.askForSync(of: scope)
            try file.answerSync(number, of: scope, trouble: "")
            #expect(try file.openQuestion(about: scope) == nil)
        }
        try set("syncAsked", "3", of: file)
        for scope in Self.scopes {
            #expect(try file.openQuestion(about: scope) == 3)
            #expect(try flag("syncAnswered", of: file) != "3")
            try file.answerSync(3, of: scope, trouble: scope == .private ? "no network" : "")
            #expect(try file.openQuestion(about: scope) == nil)
        }
        #expect(try flag("syncAnswered", of: file) == "3")
        #expect(try flag("syncAnswer", of: file) == "no network")
    }
}

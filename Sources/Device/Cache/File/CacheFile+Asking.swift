import GRDB
import StratusClient

/// Lets a process ask the one that syncs a database to sync now, and learn the outcome, through the file.
extension CacheFile {
    private static let asked = "syncAsked"
    private static let answered = "syncAnswered"
    private static let answer = "syncAnswer"

    /// - Returns: the number of the question.
    func askForSync(of scope: CKDatabase.Scope) throws -> Int64 {
        try write { database in
            let last = try self.number(Self.asked, of: scope, database)
            guard last < .max else { throw CacheError.damagedNumber }
            let number = last + 1
            try set(Self.asked, "\(number)", of: scope, database)
            try noteChange(of: [], in: scope, database)
            return number
        }
    }

    /// The question that is not answered yet; nil when there is none.
    func openQuestion(about scope: CKDatabase.Scope) throws -> Int64? {
        try read { database in
            let asked = try number(Self.asked, of: scope, database)
            return asked > (try number(Self.answered, of: scope, database)) ? asked : nil
        }
    }

    /// - Parameter trouble: why not everything is synced; empty if it is.
    func answerSync(_ number: Int64, of scope: CKDatabase.Scope, trouble: String) throws {
        try write { database in
            try set(Self.answered, "\(number)", of: scope, database)
            try set(Self.answer, trouble, of: scope, database)
        }
    }

    /// The answer to a question, or to a later one; nil while there is none.
    func answerToSync(_ number: Int64, of scope: CKDatabase.Scope) throws -> String? {
        try read { database in
            guard try self.number(Self.answered, of: scope, database) >= number else { return nil }
            return try CacheFlag.value(named: Self.answer, ofDatabase: scope.rawValue, database)
                ?? ""
        }
    }

    private func number(
        _ name: String, of scope: CKDatabase.Scope, _ database: Database
    ) throws -> Int64 {
        try CacheFlag.value(named: name, ofDatabase: scope.rawValue, database)
            .flatMap { Int64($0) } ?? 0
    }

    private func set(
        _ name: String, _ value: String, of scope: CKDatabase.Scope, _ database: Database
    ) throws {
        try CacheFlag.set(value, named: name, ofDatabase: scope.rawValue, database)
    }
}

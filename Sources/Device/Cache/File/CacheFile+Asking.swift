import GRDB
import StratusClient

/// Lets a process ask the one that syncs a database to sync now, and learn the outcome, through the file.
///
/// Apps of earlier versions ask and answer about the whole file. The numbers of all questions are of one sequence, so that
/// they answer the questions about a database, and get an answer when all databases have one.
extension CacheFile {
    private static let asked = "syncAsked"
    private static let answered = "syncAnswered"
    private static let answer = "syncAnswer"
    /// The database of the flags of the whole file.
    private static let wholeFile = 0
    private static let places = [CKDatabase.Scope.private, .shared].map(\.rawValue)

    /// - Returns: the number of the question.
    func askForSync(of scope: CKDatabase.Scope) throws -> Int64 {
        try write { database in
            let last = max(
                try self.number(Self.asked, of: scope.rawValue, database),
                try self.number(Self.asked, of: Self.wholeFile, database))
            guard last < .max else { throw CacheError.damagedNumber }
            let number = last + 1
            for place in [scope.rawValue, Self.wholeFile] {
                try CacheFlag.set("\(number)", named: Self.asked, ofDatabase: place, database)
            }
            try noteChange(of: [], in: scope, database)
            return number
        }
    }

    /// The question that is not answered yet; nil when there is none.
    func openQuestion(about scope: CKDatabase.Scope) throws -> Int64? {
        try read { database in
            let asked = try number(Self.asked, of: scope.rawValue, database)
            let answered = try number(Self.answered, of: scope.rawValue, database)
            if asked > answered { return asked }
            // A question of an earlier version is the last one, and about the whole file alone.
            let askedOfFile = try number(Self.asked, of: Self.wholeFile, database)
            let answeredOfFile = try number(Self.answered, of: Self.wholeFile, database)
            let last = try Self.places.map { try number(Self.asked, of: $0, database) }.max() ?? 0
            return askedOfFile > max(last, answered, answeredOfFile) ? askedOfFile : nil
        }
    }

    /// - Parameter trouble: why not everything is synced; empty if it is.
    func answerSync(_ number: Int64, of scope: CKDatabase.Scope, trouble: String) throws {
        try write { database in
            let place = scope.rawValue
            try CacheFlag.set("\(number)", named: Self.answered, ofDatabase: place, database)
            try CacheFlag.set(trouble, named: Self.answer, ofDatabase: place, database)
            try answerEarlierVersions(database)
        }
    }

    /// Answers the questions about the whole file to which the databases that are synced have answers.
    private func answerEarlierVersions(_ database: Database) throws {
        let places = try Self.places.filter { place in
            let token = try CacheFlag.value(
                named: CacheFlag.databaseToken.rawValue, ofDatabase: place, database)
            return try token != nil || self.number(Self.asked, of: place, database) > 0
        }
        let numbers = try places.map { try number(Self.answered, of: $0, database) }
        let answered = try number(Self.answered, of: Self.wholeFile, database)
        guard let last = numbers.min(), last > answered else { return }
        let troubles = try places.compactMap {
            try CacheFlag.value(named: Self.answer, ofDatabase: $0, database)
        }
        let trouble = troubles.first { !$0.isEmpty } ?? ""
        try CacheFlag.set("\(last)", named: Self.answered, ofDatabase: Self.wholeFile, database)
        try CacheFlag.set(trouble, named: Self.answer, ofDatabase: Self.wholeFile, database)
    }

    /// The answer to a question, or to a later one; nil while there is none.
    func answerToSync(_ number: Int64, of scope: CKDatabase.Scope) throws -> String? {
        try read { database in
            for place in [scope.rawValue, Self.wholeFile]
            where try self.number(Self.answered, of: place, database) >= number {
                return try CacheFlag.value(named: Self.answer, ofDatabase: place, database) ?? ""
            }
            return nil
        }
    }

    private func number(_ name: String, of place: Int, _ database: Database) throws -> Int64 {
        try CacheFlag.value(named: name, ofDatabase: place, database).flatMap { Int64($0) } ?? 0
    }
}

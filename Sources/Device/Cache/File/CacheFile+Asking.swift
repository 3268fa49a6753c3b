import GRDB

/// Lets a process ask the one that syncs to sync now, and learn the outcome, through the file.
extension CacheFile {
    private static let asked = "syncAsked"
    private static let answered = "syncAnswered"
    private static let answer = "syncAnswer"

    /// - Returns: the number of the question.
    func askForSync() throws -> Int64 {
        try write { database in
            let last = try self.number(Self.asked, database)
            guard last < .max else { throw CacheError.damagedNumber }
            let number = last + 1
            try set(Self.asked, "\(number)", database)
            try noteChange(of: [], in: .private, database)
            return number
        }
    }

    /// The question that is not answered yet; nil when there is none.
    func openQuestion() throws -> Int64? {
        try read { database in
            let asked = try number(Self.asked, database)
            return asked > (try number(Self.answered, database)) ? asked : nil
        }
    }

    /// - Parameter trouble: why not everything is synced; empty if it is.
    func answerSync(_ number: Int64, trouble: String) throws {
        try write { database in
            try set(Self.answered, "\(number)", database)
            try set(Self.answer, trouble, database)
        }
    }

    /// The answer to a question, or to a later one; nil while there is none.
    func answerToSync(_ number: Int64) throws -> String? {
        try read { database in
            guard try self.number(Self.answered, database) >= number else { return nil }
            return try CacheFlag.value(named: Self.answer, ofDatabase: 0, database) ?? ""
        }
    }

    private func number(_ name: String, _ database: Database) throws -> Int64 {
        try CacheFlag.value(named: name, ofDatabase: 0, database).flatMap { Int64($0) } ?? 0
    }

    private func set(_ name: String, _ value: String, _ database: Database) throws {
        try CacheFlag.set(value, named: name, ofDatabase: 0, database)
    }
}

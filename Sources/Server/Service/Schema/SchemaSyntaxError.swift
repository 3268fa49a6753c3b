/// What is wrong with the text of a schema, and where.
public struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence.
    public var message: String
    /// From 1.
    public var line: Int
    /// The character of the line, from 1.
    public var column: Int

    init(_ message: String, at place: SchemaToken.Place) {
        self.message = message
        line = place.line
        column = place.column
    }

    public var description: String { "line \(line), column \(column): \(message)" }
}

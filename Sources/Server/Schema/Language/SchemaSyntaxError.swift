/// The first error in the text of a schema, and where it is.
public struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, in one sentence.
    public var message: String
    /// The line, from 1.
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

extension CloudMapping {
    /// The mapped types with their references, as text.
    ///
    /// ```
    /// Person
    ///   address -> Home
    ///   courses -> many Course (weak)
    /// ```
    public var diagram: String {
        types.map { Self.diagram(of: $0) }.joined(separator: "\n")
    }

    private static func diagram<E: CloudEntity>(of type: E.Type) -> String {
        let lines = E.cloudMap.references.map { reference in
            "  \(reference.name) -> \(reference.isList ? "many " : "")"
                + reference.target.recordTypeName + (reference.target.isWeakTarget ? " (weak)" : "")
        }
        return ([E.recordTypeName] + lines).joined(separator: "\n")
    }

    /// The schema for production, in Apple's schema language: the mapped types with the index on
    /// the modification date and, for a database without a change feed, `Device` and `DeleteQueue`,
    /// which every device may write.
    public var schema: String {
        var types = types.map { SchemaText.text(of: $0) }
        if !source.tellsDeletions { types += [SchemaText.device, SchemaText.queue] }
        return "DEFINE SCHEMA\n\n" + types.joined(separator: "\n")
    }
}

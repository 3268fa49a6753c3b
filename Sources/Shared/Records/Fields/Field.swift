/// A named value of a record.
///
/// ```swift
/// let beds = Field(name: "beds", value: .int64(24))
/// let tags = Field(name: "tags", value: .stringList(["hut", "lake"]))
/// let nothing = Field(name: "notes", value: nil)
/// ```
public struct Field: Hashable, Sendable {
    /// The name of the field, unique in its record; see ``Names/isIdentifier(_:)``.
    public var name: String

    /// The value; nil clears the field.
    public var value: FieldValue?

    /// Whether the value's type was declared rather than guessed from its JSON form.
    ///
    /// A guessed type is replaced by the type in the schema: `22` is an INT64 until the field turns out to be a DOUBLE.
    public var isTypeDeclared: Bool

    /// Whether the client encrypted the value before it sent it.
    public var isEncrypted: Bool

    /// Whether the value's type was sent as `ENCRYPTED_…`, and is sent so in answers; only if ``isEncrypted``.
    public var hasEncryptedType: Bool

    /// Makes a field, by default a plain one whose type was declared.
    public init(
        name: String, value: FieldValue?, isTypeDeclared: Bool = true, isEncrypted: Bool = false,
        hasEncryptedType: Bool = false
    ) {
        self.name = name
        self.value = value
        self.isTypeDeclared = isTypeDeclared
        self.isEncrypted = isEncrypted
        self.hasEncryptedType = hasEncryptedType
    }
}

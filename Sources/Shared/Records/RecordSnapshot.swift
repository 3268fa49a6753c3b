/// The state of a record at one time and on one side, as a plain value.
///
/// ```swift
/// let hut = RecordSnapshot(
///     id: RecordID(name: "hut-3"), type: "Hut", fields: [Field(name: "beds", value: .int64(24))])
/// if case .int64(let beds)? = hut["beds"] { print(beds) }
/// ```
public struct RecordSnapshot: Hashable, Sendable {
    /// What the service stores about a record besides its fields.
    public struct SystemFields: Hashable, Sendable {
        /// Identifies this version of the record; every save gives it another one. Opaque to clients.
        public var changeTag: String
        /// When the record was created, in milliseconds since 1970; nil if the service did not send it.
        public var createdMilliseconds: Int64?
        /// The record name of the user who created the record; nil if the service did not send it.
        public var creatorRecordName: String?
        /// When the record was last saved, in milliseconds since 1970; nil if the service did not send it.
        public var modifiedMilliseconds: Int64?
        /// The record name of the user who saved the record last; nil if the service did not send it.
        public var modifierRecordName: String?
        /// The share of this root record.
        public var shareRecordName: String?
        /// The participants and the link of a record that is a share; opaque.
        public var sharing: [UInt8]?

        /// Makes the system fields of a record; only the change tag is required.
        public init(
            changeTag: String, createdMilliseconds: Int64? = nil, creatorRecordName: String? = nil,
            modifiedMilliseconds: Int64? = nil, modifierRecordName: String? = nil,
            shareRecordName: String? = nil, sharing: [UInt8]? = nil
        ) {
            self.changeTag = changeTag
            self.createdMilliseconds = createdMilliseconds
            self.creatorRecordName = creatorRecordName
            self.modifiedMilliseconds = modifiedMilliseconds
            self.modifierRecordName = modifierRecordName
            self.shareRecordName = shareRecordName
            self.sharing = sharing
        }
    }

    /// The name and zone of the record.
    public var id: RecordID
    /// The record type, by which a schema knows the fields.
    public var type: String
    /// Nil for a record that the service does not have.
    public var system: SystemFields?
    /// The record's parent in a sharing hierarchy.
    public var parentRecordName: String?
    /// The fields that have a value, in the order of their names. Unknown ones are kept.
    public private(set) var fields: [Field]

    /// Makes a snapshot, by default of a record that the service does not have; the fields may be in any order.
    public init(
        id: RecordID, type: String, system: SystemFields? = nil, parentRecordName: String? = nil,
        fields: [Field] = []
    ) {
        self.id = id
        self.type = type
        self.system = system
        self.parentRecordName = parentRecordName
        self.fields = Self.inOrder(fields)
    }

    /// The value of a field; assigning nil removes it.
    public subscript(name: String) -> FieldValue? {
        get { place(of: name).flatMap { fields[$0].value } }
        set {
            let place = place(of: name)
            guard let newValue else {
                if let place { fields.remove(at: place) }
                return
            }
            let value = newValue.withoutTypeIfEmpty
            if let place {
                fields[place].value = value
            } else {
                let next = fields.firstIndex { $0.name > name } ?? fields.count
                fields.insert(Field(name: name, value: value), at: next)
            }
        }
    }

    /// Sets a field with its properties, or removes it when it has no value.
    public mutating func set(_ field: Field) {
        self[field.name] = nil
        guard field.value != nil else { return }
        setFields(fields + [field])
    }

    /// Replaces all fields.
    public mutating func setFields(_ fields: [Field]) {
        self.fields = Self.inOrder(fields)
    }

    /// Whether another snapshot has the same content, regardless of the system fields of either.
    public func hasSameContent(as other: RecordSnapshot) -> Bool {
        type == other.type && parentRecordName == other.parentRecordName && fields == other.fields
    }

    private func place(of name: String) -> Int? {
        fields.firstIndex { $0.name == name }
    }

    /// Puts fields into one form, so that snapshots with the same fields are equal: sorted, without
    /// empty ones, and with one kind of empty list.
    private static func inOrder(_ fields: [Field]) -> [Field] {
        var result: [Field] = []
        result.reserveCapacity(fields.count)
        var isOrdered = true
        for field in fields where field.value != nil {
            var field = field
            field.isTypeDeclared = true
            field.value = field.value?.withoutTypeIfEmpty
            if let last = result.last, last.name > field.name { isOrdered = false }
            result.append(field)
        }
        if !isOrdered { result.sort { $0.name < $1.name } }
        return result
    }
}

import StratusRecords
import StratusWire

extension QueryDictionary {
    /// The query with the caller's own record name in place of `CKCurrentUserDefaultName`, where it asks for records by
    /// who created or changed them.
    func naming(_ userRecordName: String?) -> QueryDictionary {
        guard let userRecordName else { return self }
        var query = self
        for index in query.filterBy.indices {
            switch query.filterBy[index].field {
            case .system(.createdUserRecordName), .system(.modifiedUserRecordName):
                query.filterBy[index].value.name(userRecordName)
            default: continue
            }
        }
        return query
    }
}

extension FieldValue {
    fileprivate mutating func name(_ userRecordName: String) {
        func named(_ name: String) -> String {
            name == ZoneID.currentUserName ? userRecordName : name
        }
        func named(_ reference: Reference) -> Reference {
            var reference = reference
            reference.recordName = named(reference.recordName)
            return reference
        }
        switch self {
        case .reference(let reference): self = .reference(named(reference))
        case .referenceList(let references): self = .referenceList(references.map(named))
        case .string(let name): self = .string(named(name))
        case .stringList(let names): self = .stringList(names.map(named))
        default: break
        }
    }
}

import Foundation
import StratusRecords

/// Checks the maps of a setup.
struct MapChecking {
    static let ownTypes = ["Device", "DeleteQueue"]
    private(set) var problems: [String] = []
    private var recordTypes: [String: String] = [:]

    /// - Throws: ``MappingError`` `invalidMaps` with one sentence that names all problems.
    static func check(_ types: [any CloudEntity.Type]) throws {
        var checking = MapChecking()
        let known = Set(types.map { ObjectIdentifier($0) })
        if types.isEmpty { checking.problems.append("no type is given to the mapping") }
        for type in types { checking.check(type, among: known) }
        guard checking.problems.isEmpty else {
            throw MappingError(
                .invalidMaps,
                "The maps are wrong, and nothing syncs until they are corrected: "
                    + checking.problems.joined(separator: "; ") + ".")
        }
    }

    private mutating func check<E: CloudEntity>(
        _ type: E.Type, among known: Set<ObjectIdentifier>
    ) {
        let map = E.cloudMap
        checkType(E.self, map.recordType)
        if E.syncIDKey == nil {
            problems.append("\(E.self) has no property for the sync ID")
        }
        if E.changeDateKey == nil {
            problems.append("\(E.self) has no property for the change date")
        }
        if map.fields.isEmpty, map.references.isEmpty {
            problems.append("\(E.self) has no field")
        }
        checkNames(
            E.self,
            [map.changeDateName] + map.fields.map(\.name) + map.references.map(\.name))
        checkPaths(
            E.self,
            map.fields.map { ($0.path, $0.name) } + map.references.map { ($0.path, $0.name) })
        for reference in map.references where !known.contains(ObjectIdentifier(reference.target)) {
            problems.append(
                "\(reference.name) of \(map.recordType) refers to"
                    + " \(reference.target.recordTypeName), which is not set up")
        }
    }

    private mutating func checkType(_ type: Any.Type, _ recordType: String) {
        if !Names.isIdentifier(recordType) {
            problems.append(
                "the record type '\(recordType)' of \(type) is not a name of letters, digits and"
                    + " underscores")
        }
        if Self.ownTypes.contains(recordType) || recordType == "Users" {
            problems.append("the record type \(recordType) of \(type) is reserved")
        }
        if let other = recordTypes.updateValue("\(type)", forKey: recordType) {
            problems.append("\(other) and \(type) share the record type \(recordType)")
        }
    }

    /// Finds properties with two fields, of which one would overwrite the other.
    private mutating func checkPaths(_ type: Any.Type, _ fields: [(path: AnyKeyPath, name: String)])
    {
        var seen: [AnyKeyPath: String] = [:]
        for (path, name) in fields {
            if let other = seen.updateValue(name, forKey: path) {
                problems.append("\(type) has one property as both \(other) and \(name)")
            }
        }
    }

    private mutating func checkNames(_ type: Any.Type, _ names: [String]) {
        var seen: Set<String> = []
        for name in names {
            if !Names.isIdentifier(name) {
                problems.append(
                    "the field '\(name)' of \(type) is not a name of letters, digits and underscores"
                )
            }
            if !seen.insert(name).inserted {
                problems.append("\(type) has the field \(name) twice")
            }
        }
    }
}

import Foundation
import StratusClient

/// Record types in the schema language.
enum SchemaText {
    static let device = text("Device", [("deviceId", "STRING")], isOpen: true)
    static let queue = text(
        "DeleteQueue",
        [("device", "STRING QUERYABLE"), ("entityType", "STRING"), ("syncId", "STRING")],
        isOpen: true)

    static func text<E: CloudEntity>(of type: E.Type) -> String {
        let map = E.cloudMap
        return text(
            map.recordType,
            [(map.changeDateName, "TIMESTAMP")] + map.fields.map { ($0.name, $0.schemaType) }
                + map.references.map { ($0.name, $0.isList ? "LIST<REFERENCE>" : "REFERENCE") })
    }

    private static func text(
        _ recordType: String, _ fields: [(name: String, type: String)], isOpen: Bool = false
    ) -> String {
        var lines = [
            "\"___modTime\" TIMESTAMP QUERYABLE SORTABLE", "\"___recordID\" REFERENCE QUERYABLE",
        ]
        lines += fields.sorted { $0.name < $1.name }.map { "\($0.name) \($0.type)" }
        if isOpen {
            lines += [
                "GRANT READ, CREATE, WRITE TO \"_icloud\"", "GRANT READ, WRITE TO \"_creator\"",
                "GRANT READ TO \"_world\"",
            ]
        } else {
            lines += [
                "GRANT WRITE TO \"_creator\"", "GRANT CREATE TO \"_icloud\"",
                "GRANT READ TO \"_world\"",
            ]
        }
        return "    RECORD TYPE \(recordType) (\n"
            + lines.map { "        \($0)" }.joined(separator: ",\n") + "\n    );\n"
    }

    /// The type of a field that holds values of a type.
    static func name(of type: Any.Type) -> String {
        switch type {
        case is String.Type: "STRING"
        case is Date.Type: "TIMESTAMP"
        case is Data.Type: "BYTES"
        case is Double.Type, is Float.Type: "DOUBLE"
        case is CKAsset.Type: "ASSET"
        case is CKRecord.Reference.Type: "REFERENCE"
        case is CLLocation.Type: "LOCATION"
        case let list as any MappedList.Type: "LIST<\(name(of: list.member))>"
        default: "INT64"
        }
    }
}

private protocol MappedList {
    static var member: Any.Type { get }
}

extension Array: MappedList {
    static var member: Any.Type { Element.self }
}

import Foundation

// The text of print(record), similar to Apple's.

extension CKRecord {
    /// The record's ID, change tag, parent and values.
    func describe(_ name: String, _ details: [String] = []) -> String {
        let state = self.state.withLock { $0 }
        var parts = [
            "recordType=\(recordType)",
            "recordID=\(recordID.recordName):(\(recordID.zoneID.zoneName):\(recordID.zoneID.ownerName))",
            "recordChangeTag=\(state.changeTag ?? "nil")",
        ]
        if let parent = state.parent { parts.append("parent=\(parent.recordID.recordName)") }
        parts += details
        let values = state.values.sorted { $0.key < $1.key }.map { key, value in
            let isChanged = state.changes[key] != nil
            let shown = state.encryptedKeys.contains(key) ? "(encrypted)" : value.shown
            return "\(key)\(isChanged ? "*" : "") = \(shown)"
        }
        parts.append("values={\(values.joined(separator: ", "))}")
        return "<\(name): \(parts.joined(separator: ", "))>"
    }
}

extension StoredValue {
    /// Characters of a text that are shown.
    private static let longestText = 60
    /// Elements of a list that are shown.
    private static let longestList = 5

    /// The value as a description shows it: long texts are cut, bytes are shown as their count.
    var shown: String { object.map { Self.shown($0) } ?? "?" }

    private static func shown(_ object: Any) -> String {
        switch object {
        case let text as NSString:
            let text = text as String
            return text.count > longestText
                ? "\"\(text.prefix(longestText))…\" (\(text.count) characters)" : "\"\(text)\""
        case let data as NSData: return "\(data.length) bytes"
        case let date as NSDate: return "\(date as Date)"
        case let list as NSArray:
            let shown = list.prefix(longestList).map { Self.shown($0) }
            let more = list.count > longestList ? ["… (\(list.count))"] : []
            return "[\((shown + more).joined(separator: ", "))]"
        case let reference as CKReference: return "→ \(reference.recordID.recordName)"
        case let place as CLLocation:
            return "(\(place.coordinate.latitude), \(place.coordinate.longitude))"
        default: return "\(object)"
        }
    }
}

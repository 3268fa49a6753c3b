import Foundation
import HummingbirdTesting

/// An answer as a line of text: its status, and the name or the error of each item in it.
struct AccessSummary {
    let text: String

    init(_ response: TestResponse) {
        let type = response.headers[.contentType] ?? ""
        var words = ["\(response.status.code)"]
        if type.hasPrefix("text/html") {
            words.append("page")
        } else if type.hasPrefix("application/json"), let object = Self.object(response) {
            words += Self.words(of: object)
        } else if response.body.readableBytes > 0 {
            words.append("\(response.body.readableBytes) bytes")
        }
        text = words.joined(separator: " ")
    }

    private static func object(_ response: TestResponse) -> [String: Any]? {
        // A body that is not JSON has no items.
        let value = try? JSONSerialization.jsonObject(with: Data(buffer: response.body))
        return value as? [String: Any]
    }

    private static let lists = [
        "records", "zones", "subscriptions", "tokens", "assets", "results", "users", "faults",
    ]

    /// The names or errors of an object's items, else the keys that it has.
    private static func words(of object: [String: Any]) -> [String] {
        if let code = object["serverErrorCode"] as? String { return [code] }
        let inLists = lists.filter { object[$0] != nil }
        guard inLists.isEmpty else {
            return inLists.flatMap { name in
                (object[name] as? [[String: Any]] ?? []).flatMap(words)
            }
        }
        if object["deleted"] as? Bool == true {
            return ["-" + (name(of: object) ?? "")]
        }
        if let name = name(of: object) { return [name] }
        return object.keys.sorted().filter { !["syncToken", "moreComing"].contains($0) }
    }

    private static func name(of object: [String: Any]) -> String? {
        for key in ["recordName", "subscriptionID"] {
            if let name = object[key] as? String { return name }
        }
        if object["userRecordName"] != nil { return "user" }
        return (object["zoneID"] as? [String: Any])?["zoneName"] as? String
    }
}

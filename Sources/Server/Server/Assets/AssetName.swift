import Foundation
import StratusRecords

/// The name of an asset's file: the text that a client puts in place of `${f}` in a download's address, or the name of
/// the uploaded file.
struct AssetName {
    /// The most bytes of a name; file systems allow no more.
    private static let maximumBytes = 255

    /// The name without characters that could end a header or lead to another folder.
    let text: String

    /// - Parameter segment: The segment of the address, percent-encoded.
    /// - Returns: Nil when there is no name: the segment is empty, or still the placeholder.
    init?(inAddress segment: String) {
        guard let name = segment.removingPercentEncoding, name != "${f}" else { return nil }
        self.init(name)
    }

    private init?(_ name: String) {
        text = String(
            name.unicodeScalars.map { scalar in
                scalar.properties.generalCategory == .control
                    || "/\\".unicodeScalars.contains(scalar)
                    ? "_" : Character(scalar)
            })
        guard (1...Self.maximumBytes).contains(text.utf8.count), text != ".", text != ".." else {
            return nil
        }
    }

    /// The name in a `Content-Disposition` (RFC 6266, RFC 7578): that of `filename*` before that of `filename`,
    /// in which browsers percent-encode quotation marks.
    init?(contentDisposition header: some StringProtocol) {
        var name: AssetName?
        for (key, value) in Self.parameters(of: header) {
            switch key {
            case "filename*":
                let parts = value.split(
                    separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
                guard parts.count == 3, parts[0].lowercased() == "utf-8",
                    let decoded = String(parts[2]).removingPercentEncoding,
                    let extended = AssetName(decoded)
                else { continue }
                self = extended
                return
            case "filename":
                let plain = value.replacing("%22", with: "\"").replacing("%0D", with: "\r")
                    .replacing("%0A", with: "\n")
                name = name ?? AssetName(plain)
            default: continue
            }
        }
        guard let name else { return nil }
        self = name
    }

    /// The parameters of a header's value, without the quotation marks around their values. A backslash before a
    /// quotation mark escapes it, and otherwise stands for itself: browsers send those of paths unescaped.
    private static func parameters(of header: some StringProtocol) -> [(String, String)] {
        var parts = [""]
        var isQuoted = false
        var isEscaping = false
        for character in header {
            if isEscaping {
                parts[parts.count - 1] += character == "\"" ? "\"" : "\\\(character)"
                isEscaping = false
            } else if isQuoted, character == "\\" {
                isEscaping = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ";", !isQuoted {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts.dropFirst().compactMap { part in
            guard let equals = part.firstIndex(of: "=") else { return nil }
            return (
                part[..<equals].trimmingCharacters(in: .whitespaces).lowercased(),
                part[part.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            )
        }
    }

    /// The name for use in an address.
    var escaped: String { PercentEncoding.text(text) }

    /// The header's value (RFC 6266): the name itself, and before it one in ASCII for old readers.
    var contentDisposition: String {
        let plain = text.unicodeScalars.map { scalar in
            scalar.isASCII && scalar != "\"" && scalar != "%" ? Character(scalar) : "_"
        }
        return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(escaped)"
    }
}

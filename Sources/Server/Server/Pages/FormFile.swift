import StratusRecords
import StratusWire

/// Extracts the file from a `multipart/form-data` body (RFC 7578) as the body arrives.
///
/// The file is the first part with a file name, regardless of the part's name, or one with the name `file` or `files`.
/// Parts before it are skipped, and everything after it is ignored. Holds at most one piece and a boundary in memory.
struct FormFile {
    private enum State {
        /// Before the first boundary, or inside another part.
        case passing
        case readingHead
        case inFile
        case complete
    }

    /// The most bytes in the head lines of one part.
    private static let headBytes = 8_192
    private static let headEnd = Array("\r\n\r\n".utf8)

    /// The name of the file; nil before its part began, and when it has no name.
    private(set) var fileName: AssetName?
    /// `\r\n--`, followed by the boundary.
    private let delimiter: [UInt8]
    private var state = State.passing
    /// Bytes that were read and may belong to a boundary or a head. A line end is put before the body, since the first
    /// boundary may come without one.
    private var rest: [UInt8] = Array("\r\n".utf8)

    /// - Parameter boundary: The boundary in the content type.
    init(boundary: [UInt8]) {
        delimiter = Array("\r\n--".utf8) + boundary
    }

    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Reads a piece of the body.
    ///
    /// - Returns: The bytes of the file in it.
    /// - Throws: ``RequestFailure`` when the body is not such a form.
    mutating func read(_ bytes: [UInt8]) throws -> [UInt8] {
        guard !isComplete else { return [] }
        rest += bytes
        var file: [UInt8] = []
        while true {
            switch state {
            case .passing:
                guard let found = Self.find(delimiter, in: rest) else {
                    keepTail(delimiter.count - 1)
                    return file
                }
                rest.removeFirst(found + delimiter.count)
                state = .readingHead
            case .readingHead:
                // Two hyphens after the boundary end the form: it has no file.
                if rest.starts(with: "--".utf8) {
                    throw RequestFailure(.malformedForm, unreadBody: .refused)
                }
                guard let end = Self.find(Self.headEnd, in: rest) else {
                    guard rest.count <= Self.headBytes else {
                        throw RequestFailure(.malformedForm, unreadBody: .refused)
                    }
                    return file
                }
                let head = String(decoding: rest[..<end], as: UTF8.self)
                // One line end stays: the boundary of an empty part follows its head directly.
                rest.removeFirst(end + 2)
                state = Self.isFile(head) ? .inFile : .passing
                if case .inFile = state {
                    rest.removeFirst(2)
                    fileName = Self.disposition(in: head).flatMap {
                        AssetName(contentDisposition: $0)
                    }
                }
            case .inFile:
                if let found = Self.find(delimiter, in: rest) {
                    file += rest[..<found]
                    rest = []
                    state = .complete
                } else {
                    let safe = max(rest.count - delimiter.count + 1, 0)
                    file += rest[..<safe]
                    keepTail(delimiter.count - 1)
                }
                return file
            case .complete: return file
            }
        }
    }

    private mutating func keepTail(_ count: Int) {
        rest.removeFirst(max(rest.count - count, 0))
    }

    /// The boundary of a form's content type; nil for another type.
    static func boundary(contentType: String) -> [UInt8]? {
        guard contentType.lowercased().hasPrefix("multipart/form-data") else { return nil }
        for parameter in contentType.split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2,
                pair[0].filter({ $0 != " " }).lowercased() == "boundary"
            else { continue }
            let value = pair[1].filter { $0 != "\"" && $0 != " " }
            return (1...70).contains(value.utf8.count) ? Array(value.utf8) : nil
        }
        return nil
    }

    private static func isFile(_ head: String) -> Bool {
        guard let disposition = disposition(in: head)?.lowercased() else { return false }
        return disposition.split(separator: ";").dropFirst().contains { parameter in
            let parameter = parameter.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            return parameter.hasPrefix("filename=") || parameter.hasPrefix("filename*=")
                || parameter == "name=file" || parameter == "name=files"
        }
    }

    private static func disposition(in head: String) -> Substring? {
        head.split(separator: "\r\n").first {
            $0.lowercased().hasPrefix("content-disposition:")
        }
    }

    private static func find(_ pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count, let first = pattern.first else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            let last = bytes.count - pattern.count
            while start <= last {
                guard let next = bytes[start...last].firstIndex(of: first) else { return nil }
                if bytes[next..<(next + pattern.count)].elementsEqual(pattern) { return next }
                start = next + 1
            }
            return nil
        }
    }
}

extension ServiceError {
    static let malformedForm = ServiceError(
        .badRequest,
        "The form has no file or does not end; send the asset's bytes as the body, without a form.",
        frameworkCode: .invalidArguments)
}

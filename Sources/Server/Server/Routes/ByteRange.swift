/// The range that a `Range` header asks for (RFC 9110, section 14).
enum ByteRange: Equatable {
    case part(Range<Int64>)
    /// It begins after the end.
    case unsatisfiable
    /// Invalid, or several ranges: the header is ignored, as the standard allows.
    case whole

    init(_ header: String, sizeBytes: Int64) {
        guard header.lowercased().hasPrefix("bytes=") else {
            self = .whole
            return
        }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let (first, last) = Self.numbers(parts[0], parts[1]) else {
            self = .whole
            return
        }
        switch (first, last) {
        case (let first?, let last?):
            guard first <= last else {
                self = .whole
                return
            }
            self = Self.part(from: first, to: min(last, sizeBytes - 1), of: sizeBytes)
        case (let first?, nil): self = Self.part(from: first, to: sizeBytes - 1, of: sizeBytes)
        case (nil, let last?):
            // A suffix range: the last `last` bytes of the asset.
            guard last > 0, sizeBytes > 0 else {
                self = .unsatisfiable
                return
            }
            self = .part(max(sizeBytes - last, 0)..<sizeBytes)
        case (nil, nil): self = .whole
        }
    }

    private static func part(from first: Int64, to last: Int64, of sizeBytes: Int64) -> ByteRange {
        first < sizeBytes ? .part(first..<(last + 1)) : .unsatisfiable
    }

    /// Nil when one of them is neither empty nor a number.
    private static func numbers(
        _ first: Substring, _ last: Substring
    ) -> (first: Int64?, last: Int64?)? {
        func number(_ text: Substring) -> Int64?? {
            let text = text.filter { $0 != " " }
            if text.isEmpty { return .some(nil) }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count <= 18 else {
                return nil
            }
            return .some(Int64(text))
        }
        guard let first = number(first), let last = number(last) else { return nil }
        return (first, last)
    }
}

/// Converts between exact dates and the whole milliseconds of the protocol.
///
/// Foundation's `Date` is a Double: seconds since 2001. An app that compares a date with the one it gets back from the
/// service expects them to be equal.
public enum ExactDate {
    private static let secondsFrom1970To2001: Double = 978_307_200

    /// Whole milliseconds since 1970 of a date, limited to their range.
    ///
    /// - Parameter seconds: since 2001.
    public static func milliseconds(of seconds: Double) -> Int64 {
        let since1970 = seconds + secondsFrom1970To2001
        return Int64(exactly: (since1970 * 1_000).rounded()) ?? (since1970 < 0 ? .min : .max)
    }

    /// The date of whole milliseconds since 1970, in seconds since 2001.
    public static func seconds(ofMilliseconds milliseconds: Int64) -> Double {
        Double(milliseconds) / 1_000 - secondsFrom1970To2001
    }

    /// The exact date, if whole milliseconds cannot represent it; otherwise nil.
    public static func remainder(of seconds: Double) -> Double? {
        guard seconds.isFinite, Self.seconds(ofMilliseconds: milliseconds(of: seconds)) != seconds
        else { return nil }
        return seconds
    }
}

extension FieldValue {
    /// The value in the protocol's form: dates in whole milliseconds.
    public var inMilliseconds: FieldValue {
        switch self {
        case .timestamp(let milliseconds, .some): .timestamp(milliseconds: milliseconds)
        case .timestampList(let milliseconds, .some): .timestampList(milliseconds: milliseconds)
        case .location(let place) where place.timestampExactSeconds != nil:
            .location(place.inMilliseconds)
        case .locationList(let places): .locationList(places.map(\.inMilliseconds))
        default: self
        }
    }
}

extension Location {
    fileprivate var inMilliseconds: Location {
        var place = self
        place.timestampExactSeconds = nil
        return place
    }
}

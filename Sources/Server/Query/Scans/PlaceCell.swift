import Foundation
import StratusMatching
import StratusRecords

/// A cell of the earth's surface, which is halved in both directions at each level.
///
/// The bits of latitude and longitude alternate in the cell's number (Z-order), so that the places in a
/// cell are one range of keys. Cells of the deepest level are a centimetre wide; they are the keys of places.
struct PlaceCell: Hashable, Sendable {
    static let deepestLevel = 32
    static let world = PlaceCell(level: 0, bits: 0)

    var level: Int
    /// Two bits for each level, in the lowest positions.
    var bits: UInt64

    /// The key of a place.
    static func key(of place: Location) -> [UInt8] {
        IndexKey.bytes(
            ofBits: spread(part(place.latitude, of: 90)) << 1
                | spread(part(place.longitude, of: 180)))
    }

    /// The middle of the cell whose key this is; nil for the key of a record without a place.
    static func centre(ofKey key: [UInt8]) -> Location? {
        guard key.count == 9 else { return nil }
        let bits = key.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return PlaceCell(level: deepestLevel, bits: bits).centre
    }

    /// The keys of the places in the cell.
    var keys: KeyRange {
        guard level > 0 else { return .values }
        let shift = UInt64(2 * (Self.deepestLevel - level))
        let lower = bits << shift
        // Nothing follows the cell at the north pole and 180° east.
        let (next, isLast) = lower.addingReportingOverflow(1 << shift)
        return KeyRange(
            lower: IndexKey.bytes(ofBits: lower),
            upper: isLast ? IndexKey.last : IndexKey.bytes(ofBits: next))
    }

    var quarters: [PlaceCell] {
        (0..<4).map { PlaceCell(level: level + 1, bits: bits << 2 | $0) }
    }

    var centre: Location {
        let size = 1 / Double(UInt64(1) << UInt64(level))
        return Location(
            latitude: (Double(Self.gather(bits >> 1)) + 0.5) * size * 180 - 90,
            longitude: (Double(Self.gather(bits)) + 0.5) * size * 360 - 180)
    }

    /// The distance from the centre, in metres, within which the whole cell lies.
    var radius: Double {
        let size = 1 / Double(UInt64(1) << UInt64(level))
        let latitude = abs(centre.latitude)
        let nearestToEquator = max(0, latitude - size * 90)
        let radians = Double.pi / 180
        // Along the meridian, then along the parallel: no shorter than the great circle.
        return Location.earthRadius * radians
            * (size * 90 + size * 180 * cos(nearestToEquator * radians))
    }

    /// A coordinate as a fraction of its range, in 32 bits. Values outside count as the edge.
    private static func part(_ degrees: Double, of maximum: Double) -> UInt64 {
        let scaled = (degrees + maximum) / (2 * maximum) * 4_294_967_296
        guard scaled > 0 else { return 0 }
        return scaled >= 4_294_967_295 ? 4_294_967_295 : UInt64(scaled)
    }

    /// Puts a zero before each of 32 bits.
    private static func spread(_ number: UInt64) -> UInt64 {
        var bits = number & 0xFFFF_FFFF
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }

    /// Undoes ``spread(_:)``, ignoring the bits between.
    private static func gather(_ number: UInt64) -> UInt64 {
        var bits = number & 0x5555_5555_5555_5555
        bits = (bits | bits >> 1) & 0x3333_3333_3333_3333
        bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF
        return (bits | bits >> 16) & 0x0000_0000_FFFF_FFFF
    }
}

extension Location {
    /// Ranges with the keys of all places between two distances from here, both included, and of some
    /// places outside.
    ///
    /// - Parameter limit: The most ranges to return; more of them cover the ring more closely.
    func keys(from inner: Double, to outer: Double, cells limit: Int = 64) -> [KeyRange] {
        var whole: [PlaceCell] = []
        var parts = [PlaceCell.world]
        while let first = parts.first, first.level < PlaceCell.deepestLevel {
            var finer: [PlaceCell] = []
            var enclosed: [PlaceCell] = []
            for cell in parts.flatMap(\.quarters) {
                // Two centimetres for the size of the deepest cells and for rounding.
                let (distance, radius) = (distance(to: cell.centre), cell.radius + 0.02)
                if distance - radius > outer || distance + radius < inner { continue }
                if distance + radius <= outer, distance - radius >= inner {
                    enclosed.append(cell)
                } else {
                    finer.append(cell)
                }
            }
            guard whole.count + enclosed.count + finer.count <= limit else { break }
            whole += enclosed
            parts = finer
        }
        return (whole + parts).map(\.keys).joined
    }
}

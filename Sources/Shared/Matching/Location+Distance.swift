import Foundation
import StratusRecords

extension Location {
    /// Metres of the earth's mean radius.
    package static let earthRadius = 6_371_008.8
    /// A little more than the metres to the other side of the earth.
    package static let farthest = 20_100_000.0

    /// Whether the coordinates are valid. Invalid ones have no distance to any place.
    package var isOnEarth: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }

    /// Metres along the great circle, on a sphere of the earth's mean radius. `CLLocation` measures with
    /// it on Linux, so that the service and a device agree on what is near.
    package func distance(to other: Location) -> Double {
        let radians = Double.pi / 180
        let here = latitude * radians
        let there = other.latitude * radians
        let halfLatitude = sin((there - here) / 2)
        let halfLongitude = sin((other.longitude - longitude) * radians / 2)
        let haversine =
            halfLatitude * halfLatitude + cos(here) * cos(there) * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, haversine.squareRoot()))
    }
}

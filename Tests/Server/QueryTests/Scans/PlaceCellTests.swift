import StratusMatching
import StratusRecords
import StratusTesting
import TestSeeds
import Testing

@testable import StratusQuery

/// The key ranges of places.
@Suite struct PlaceCellTests {
    /// Poles, equator, date line, and places close to each other.
    private static func cornerCase(_ numbers: inout SeededNumbers) -> Location {
        Location(
            latitude: [-90, -45.5, 0, 46.5, 46.50001, 46.6, 90].randomElement(using: &numbers) ?? 0,
            longitude: [-180, -179.99, 0, 7.9, 7.90001, 8, 179.99, 180]
                .randomElement(using: &numbers) ?? 0)
    }

    /// Every place between two distances lies in the key ranges for them, for any query.
    @Test(arguments: Seeds.forTest("PlaceCellTests", count: 1))
    func keyRangesCoverTheDistanceRange(seed: UInt64) {
        var numbers = SeededNumbers(seed: seed)
        for _ in 0..<300 {
            func coordinate(_ maximum: Double) -> Double {
                Double.random(in: -maximum...maximum, using: &numbers)
            }
            let centre =
                numbers.next() % 3 == 0
                ? Self.cornerCase(&numbers)
                : Location(latitude: coordinate(90), longitude: coordinate(180))
            let rings: [Double] = [0, 100, 50_000, 5_000_000]
            let inner = rings.randomElement(using: &numbers) ?? 0
            let outer = inner + Double.random(in: 0...2_000_000, using: &numbers)
            let ranges = centre.keys(from: inner, to: outer)
            #expect(ranges.count <= 64)
            for _ in 0..<30 {
                let isNear = numbers.next() % 2 == 0
                let place = Location(
                    latitude: isNear
                        ? max(-90, min(90, centre.latitude + coordinate(10))) : coordinate(90),
                    longitude: isNear
                        ? max(-180, min(180, centre.longitude + coordinate(10))) : coordinate(180))
                let distance = centre.distance(to: place)
                guard distance >= inner, distance <= outer else { continue }
                let key = PlaceCell.key(of: place)
                #expect(ranges.contains { $0.contains(key) }, "\(centre) \(place)")
            }
        }
    }
}

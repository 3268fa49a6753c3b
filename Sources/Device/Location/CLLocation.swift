import Foundation
import StratusMatching
import StratusRecords

/// An angle in degrees.
public typealias CLLocationDegrees = Double
/// A distance in metres.
public typealias CLLocationDistance = Double
/// An accuracy in metres; negative when unknown.
public typealias CLLocationAccuracy = Double
/// A speed in metres per second; negative when unknown.
public typealias CLLocationSpeed = Double
/// A direction in degrees clockwise from north; negative when unknown.
public typealias CLLocationDirection = Double

/// A point on the earth.
public struct CLLocationCoordinate2D: Sendable {
    /// The latitude in degrees north of the equator, from -90 to 90; not checked here.
    public var latitude: CLLocationDegrees
    /// The longitude in degrees east of Greenwich, from -180 to 180; not checked here.
    public var longitude: CLLocationDegrees

    /// Makes the coordinate of latitude 0 and longitude 0.
    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    /// Makes a coordinate of any two numbers.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A location with its accuracy and time, with the name and members of Apple's CoreLocation class.
///
/// It has only what record fields need, and no location services.
///
/// ```swift
/// let hut = CKRecord(recordType: "Hut")
/// hut["spot"] = CLLocation(latitude: 46.56, longitude: 8.56)
/// ```
public final class CLLocation: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The point on the earth, with the accuracy ``horizontalAccuracy``.
    public let coordinate: CLLocationCoordinate2D
    /// The altitude in metres above sea level.
    public let altitude: CLLocationDistance
    /// How many metres the coordinate may be off; negative when the coordinate is not valid.
    public let horizontalAccuracy: CLLocationAccuracy
    /// How many metres the altitude may be off; negative when the altitude is not valid.
    public let verticalAccuracy: CLLocationAccuracy
    /// The direction of travel, in degrees clockwise from north; negative when unknown.
    public let course: CLLocationDirection
    /// The speed in metres per second; negative when unknown.
    public let speed: CLLocationSpeed
    /// When the location was determined.
    public let timestamp: Date

    /// Makes a location with all its values, none of which is checked.
    public init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy, verticalAccuracy: CLLocationAccuracy,
        course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    /// Makes a location whose course and speed are unknown: -1.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy, verticalAccuracy: CLLocationAccuracy,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy, course: -1, speed: -1, timestamp: timestamp)
    }

    /// Makes a location from only a coordinate: its altitude, course and speed are unknown.
    ///
    /// - Parameter timestamp: when it was determined; now by default.
    public convenience init(
        latitude: CLLocationDegrees, longitude: CLLocationDegrees, timestamp: Date = Date()
    ) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude),
            altitude: 0, horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: timestamp)
    }

    /// The distance in metres along the great circle, on a sphere of the earth's mean radius.
    public func distance(from location: CLLocation) -> CLLocationDistance {
        place.distance(to: location.place)
    }

    private var place: Location {
        Location(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocation else { return false }
        return coordinate.latitude == other.coordinate.latitude
            && coordinate.longitude == other.coordinate.longitude && altitude == other.altitude
            && horizontalAccuracy == other.horizontalAccuracy
            && verticalAccuracy == other.verticalAccuracy && course == other.course
            && speed == other.speed && timestamp == other.timestamp
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(coordinate.latitude)
        hasher.combine(coordinate.longitude)
        return hasher.finalize()
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.encode(coordinate.latitude, forKey: "latitude")
        coder.encode(coordinate.longitude, forKey: "longitude")
        coder.encode(altitude, forKey: "altitude")
        coder.encode(horizontalAccuracy, forKey: "horizontalAccuracy")
        coder.encode(verticalAccuracy, forKey: "verticalAccuracy")
        coder.encode(course, forKey: "course")
        coder.encode(speed, forKey: "speed")
        coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "timestamp")
    }

    public init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "latitude"), coder.containsValue(forKey: "longitude")
        else { return nil }
        coordinate = CLLocationCoordinate2D(
            latitude: coder.decodeDouble(forKey: "latitude"),
            longitude: coder.decodeDouble(forKey: "longitude"))
        altitude = coder.decodeDouble(forKey: "altitude")
        horizontalAccuracy = coder.decodeDouble(forKey: "horizontalAccuracy")
        verticalAccuracy = coder.decodeDouble(forKey: "verticalAccuracy")
        course = coder.decodeDouble(forKey: "course")
        speed = coder.decodeDouble(forKey: "speed")
        timestamp = Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "timestamp"))
    }
}

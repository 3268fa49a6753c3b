import Foundation
import StratusRecords

extension FieldValue {
    /// Makes the protocol's value from an object; nil when no field can hold it.
    init?(object: any CKRecordValueProtocol) {
        switch object {
        case let array as NSArray:
            guard let list = FieldValue(list: array) else { return nil }
            self = list
        case let string as NSString: self = .string(string as String)
        case let number as NSNumber:
            guard number.fitsField else { return nil }
            self = number.isFloatingPoint ? .double(number.doubleValue) : .int64(number.int64Value)
        case let date as NSDate:
            self = .timestamp(
                milliseconds: date.wholeMilliseconds,
                exactSeconds: ExactDate.remainder(of: date.timeIntervalSinceReferenceDate))
        case let data as NSData: self = .bytes([UInt8](data as Data))
        case let reference as CKReference: self = .reference(reference.wireReference)
        case let location as CLLocation:
            guard location.fitsField else { return nil }
            self = .location(Location(location))
        case let asset as CKAsset:
            // A file of the app has no value until it is uploaded or stored.
            guard let value = asset.knownValue else { return nil }
            self = .asset(value)
        default: return nil
        }
    }

    private init?(list array: NSArray) {
        guard let first = array.firstObject else {
            self = .emptyList
            return
        }
        let list: FieldValue?
        switch first {
        case is NSString:
            list = Self.members(array, NSString.self).map { .stringList($0.map { $0 as String }) }
        case is NSNumber:
            let numbers = Self.members(array, NSNumber.self)
            list = numbers.flatMap { $0.allSatisfy(\.fitsField) ? $0 : nil }.map { numbers in
                numbers.contains(where: \.isFloatingPoint)
                    ? .doubleList(numbers.map(\.doubleValue))
                    : .int64List(numbers.map(\.int64Value))
            }
        case is NSDate:
            list = Self.members(array, NSDate.self).map { dates in
                let seconds = dates.map(\.timeIntervalSinceReferenceDate)
                let isExact =
                    seconds.contains { ExactDate.remainder(of: $0) != nil }
                    && seconds.allSatisfy(\.isFinite)
                return .timestampList(
                    milliseconds: dates.map(\.wholeMilliseconds),
                    exactSeconds: isExact ? seconds : nil)
            }
        case is NSData:
            list = Self.members(array, NSData.self).map {
                .bytesList($0.map { [UInt8]($0 as Data) })
            }
        case is CKReference:
            list = Self.members(array, CKReference.self).map {
                .referenceList($0.map(\.wireReference))
            }
        case is CLLocation:
            let places = Self.members(array, CLLocation.self)
            list = places.flatMap { $0.allSatisfy(\.fitsField) ? $0 : nil }.map {
                .locationList($0.map { Location($0) })
            }
        case is CKAsset:
            let stored = Self.members(array, CKAsset.self)?.compactMap(\.knownValue)
            list = stored.flatMap { $0.count == array.count ? .assetList($0) : nil }
        default: list = nil
        }
        guard let list else { return nil }
        self = list
    }

    private static func members<Member>(_ array: NSArray, _ type: Member.Type) -> [Member]? {
        let members = array.compactMap { $0 as? Member }
        return members.count == array.count ? members : nil
    }
}

extension NSNumber {
    /// Whether the protocol can represent the number: JSON has no infinity and no NaN, and integers
    /// end with Int64.
    fileprivate var fitsField: Bool {
        // An unsigned integer above Int64.max becomes negative.
        isFloatingPoint ? doubleValue.isFinite : doubleValue <= 0 || int64Value > 0
    }

    var isFloatingPoint: Bool {
        let kind = UInt8(bitPattern: objCType.pointee)
        return kind == UInt8(ascii: "d") || kind == UInt8(ascii: "f")
    }
}

extension NSDate {
    convenience init(milliseconds: Int64) {
        self.init(
            timeIntervalSinceReferenceDate: ExactDate.seconds(ofMilliseconds: milliseconds))
    }

    /// Milliseconds since 1970, as the protocol represents dates, clamped to its range.
    var wholeMilliseconds: Int64 {
        ExactDate.milliseconds(of: timeIntervalSinceReferenceDate)
    }
}

extension Date {
    init(milliseconds: Int64) {
        self.init(
            timeIntervalSinceReferenceDate: ExactDate.seconds(ofMilliseconds: milliseconds))
    }
}

extension Location {
    init(_ location: CLLocation) {
        self.init(
            latitude: location.coordinate.latitude, longitude: location.coordinate.longitude,
            horizontalAccuracy: location.horizontalAccuracy,
            verticalAccuracy: location.verticalAccuracy, altitude: location.altitude,
            speed: location.speed, course: location.course,
            timestampMilliseconds: (location.timestamp as NSDate).wholeMilliseconds,
            timestampExactSeconds: ExactDate.remainder(
                of: location.timestamp.timeIntervalSinceReferenceDate))
    }
}

extension CLLocation {
    /// Whether the protocol can represent the location; other members that are not finite are left
    /// out.
    fileprivate var fitsField: Bool {
        coordinate.latitude.isFinite && coordinate.longitude.isFinite
    }

    convenience init(_ location: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: location.latitude, longitude: location.longitude),
            altitude: location.altitude ?? 0, horizontalAccuracy: location.horizontalAccuracy ?? 0,
            verticalAccuracy: location.verticalAccuracy ?? -1, course: location.course ?? -1,
            speed: location.speed ?? -1,
            timestamp: location.timestampExactSeconds.map {
                Date(timeIntervalSinceReferenceDate: $0)
            } ?? Date(milliseconds: location.timestampMilliseconds ?? 0))
    }
}

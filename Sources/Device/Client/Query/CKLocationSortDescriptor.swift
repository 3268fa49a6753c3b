import Foundation

/// Sorts a query's matches by their distance from a place, nearest first.
///
/// The field must be sortable; records without a place come last. Source: Apple's page
/// "CKLocationSortDescriptor".
///
/// ```swift
/// query.sortDescriptors = [CKLocationSortDescriptor(key: "spot", relativeLocation: here)]
/// ```
///
/// Not Sendable, because Foundation on Linux declares no sort descriptor as Sendable.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    /// The place from which distances are measured.
    public let relativeLocation: CLLocation

    /// Makes a descriptor that sorts by the distance between a field and a place.
    ///
    /// - Parameter key: the name of a field whose values are of type `CLLocation`.
    /// - Parameter relativeLocation: the place from which distances are measured.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        super.init(keyPath: \SortKeyProbe[key], ascending: true)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        CKLocationSortDescriptor(key: key ?? "", relativeLocation: relativeLocation)
    }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(key, "key")
        coder.archive(relativeLocation, "relativeLocation")
    }

    public convenience init?(coder: NSCoder) {
        guard let key = coder.archivedString("key"),
            let location = coder.archivedObject(CLLocation.self, "relativeLocation")
        else { return nil }
        self.init(key: key, relativeLocation: location)
    }
}

// Apple's CloudKit shows CoreLocation to whoever imports it; so does this module.
@_exported import CoreLocation

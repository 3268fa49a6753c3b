// Apple's CloudKit shows CLLocation to whoever imports it; so does this module.
#if canImport(ObjectiveC)
    @_exported import CoreLocation
#else
    @_exported import StratusLocation
#endif

// Importing Apple's CloudKit also imports CLLocation; so does importing this module.
#if canImport(ObjectiveC)
    @_exported import CoreLocation
#else
    @_exported import StratusLocation
#endif

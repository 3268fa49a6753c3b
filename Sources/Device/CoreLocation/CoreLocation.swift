// For code that imports CoreLocation by name; CloudKit and StratusClient show the same types without
// it. Nothing depends on this module: where it is built, canImport(CoreLocation) is true for every
// package, and some expect all of Apple's framework then.
@_exported import StratusLocation

// Serves code that imports CoreLocation by name; CloudKit and StratusClient export the same types
// without it. Nothing depends on this module: if it is built, canImport(CoreLocation) is true for
// every package, and some packages then expect all of Apple's framework.
@_exported import StratusLocation

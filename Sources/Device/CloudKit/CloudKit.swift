// The module that apps import where Apple's framework does not exist; it only re-exports.
@_exported import Foundation
@_exported import StratusClient
@_exported import StratusSync
@_exported import StratusSyncEngine

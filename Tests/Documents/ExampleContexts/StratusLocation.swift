import CloudKit
import CoreLocation

import Foundation

/// What the tasks keep between launches: archived objects and flags by name.
final class Disk {
    func mark(_ name: String) -> Bool {
        return UserDefaults.standard.bool(forKey: name)
    }

    func setMark(_ name: String) {
        UserDefaults.standard.set(true, forKey: name)
    }

    func object(_ name: String) -> Any? {
        return UserDefaults.standard.data(forKey: name).flatMap {
            NSKeyedUnarchiver.unarchiveObject(with: $0)
        }
    }

    func setObject(_ object: Any?, _ name: String) {
        let data = object.map { NSKeyedArchiver.archivedData(withRootObject: $0) }
        UserDefaults.standard.set(data, forKey: name)
    }
}

/// A row of the app's own store: its fields, and the system fields of the record.
class TaskRow {
    var title: String?
    var encodedSystemFields: NSMutableData?
}

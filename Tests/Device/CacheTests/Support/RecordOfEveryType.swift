import Foundation
import StratusClient
import Testing

extension CKRecord {
    /// Sets a value of each type that an app can use.
    func setEveryType() {
        self["string"] = "äöü 🛒"
        self["int"] = 42
        self["double"] = 1.5
        self["date"] = Date(timeIntervalSince1970: 1_234.567)
        self["data"] = Data([0, 1, 255])
        self["list"] = ["a", "b"]
    }

    func expectEveryType() {
        #expect(self["string"] == "äöü 🛒")
        #expect(self["int"] == 42)
        #expect(self["double"] == 1.5)
        #expect(self["date"] == Date(timeIntervalSince1970: 1_234.567))
        #expect(self["data"] == Data([0, 1, 255]))
        #expect(self["list"] == ["a", "b"])
    }
}

import Foundation
import StratusRuntime

extension Data {
    /// Replaces a file in one step; only its owner may read it. After a crash or a loss of power
    /// either the old or the new file exists.
    package func writePrivately(to path: String) throws {
        try DurableFile.replace(path, with: [UInt8](self)) { code in
            POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
    }
}

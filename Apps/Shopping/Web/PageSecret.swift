import Crypto
import StratusRecords
import StratusRuntime

/// The secret that a page needs in order to see and change the lists: any program, and any page in a browser, can reach
/// a port of this machine.
///
/// It is in the address behind the `#`, which browsers send nowhere: not to a server, not as a
/// referrer.
package struct PageSecret: Hashable, Sendable {
    package let text: String

    /// 128 random bits, new at each start.
    package init(world: World = .live) {
        text = Hexadecimal.text(world.randomBytes(16))
    }

    /// Compares hashes, so that the time does not depend on where two texts differ.
    func isSame(as shown: String) -> Bool {
        SHA256.hash(data: Array(shown.utf8)) == SHA256.hash(data: Array(text.utf8))
    }
}

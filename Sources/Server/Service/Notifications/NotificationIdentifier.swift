import Crypto
import StratusRecords
import StratusRuntime
import StratusStorage

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Identifies the notifications of one event: a hash of its position in the outbox. Notifications that are dispatched
/// again after a failure or a crash keep their identifiers, so receivers recognise them.
///
/// The position includes the epoch in which the event was added: after a history was lost, other events get the same
/// numbers.
struct NotificationIdentifier {
    private let seed: [UInt8]

    init(address: DatabaseAddress, epoch: Epoch, row: Int64) {
        var writer = ByteWriter()
        writer.write(address.containerAddress.container)
        writer.write(address.containerAddress.environment.rawValue)
        writer.write(address.owner)
        writer.write(number: epoch.number)
        writer.write(number: epoch.identifier)
        writer.write(number: row)
        seed = writer.bytes
    }

    /// The UUID (version 8, RFC 9562) of a change by its number. An event about a zone has number 0.
    func text(_ change: Int) -> String {
        var writer = ByteWriter()
        writer.write(raw: seed)
        writer.write(number: Int64(change))
        var bytes = Array(SHA256.hash(data: writer.bytes).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return UUID(bytes: bytes).uuidString
    }
}

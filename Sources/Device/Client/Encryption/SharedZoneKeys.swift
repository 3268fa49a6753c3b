import Crypto
import Foundation

/// The keys of the zones that others share with a user.
///
/// A zone has several if the user replaced one: the first encrypts, all decrypt. The first key of a
/// zone changes only by ``replace(_:of:keepsFormer:)``, a person's decision.
struct SharedZoneKeys: Equatable, Sendable {
    struct Zone: Hashable, Sendable {
        var owner: String
        var name: String

        init(_ zoneID: CKRecordZone.ID) {
            self.init(owner: zoneID.ownerName, name: zoneID.zoneName)
        }

        fileprivate init(owner: String, name: String) {
            self.owner = owner
            self.name = name
        }
    }

    private struct Keys: Equatable, Sendable {
        var list: [ZoneKey]
        /// How often the user replaced the first key.
        var replacements = 0
    }

    /// A key as ``sealed(with:for:)`` writes it; a zone's keys are written in order.
    private struct Entry: Codable {
        var owner: String
        var zone: String
        var key: Data
        var replacements: Int?
    }

    private var zones: [Zone: Keys] = [:]

    init() {}

    /// The keys of a zone, first the one that encrypts; empty if the device has none.
    subscript(zone: Zone) -> [ZoneKey] { zones[zone]?.list ?? [] }

    /// Adds the first key of a zone; does nothing if there is one already.
    mutating func add(_ key: ZoneKey, of zone: Zone) {
        if zones[zone] == nil { zones[zone] = Keys(list: [key]) }
    }

    /// Makes a key the one that encrypts.
    ///
    /// - Parameter keepsFormer: whether the former keys still decrypt.
    mutating func replace(_ key: ZoneKey, of zone: Zone, keepsFormer: Bool) {
        let former = self[zone].filter { $0 != key && keepsFormer }
        guard self[zone] != [key] + former else { return }
        zones[zone] = Keys(
            list: [key] + former, replacements: (zones[zone]?.replacements ?? 0) + 1)
    }

    /// Merges the keyring of another device, or an earlier one that a service returned: adds zones
    /// that are new here, and keys that the user replaced there.
    mutating func merge(_ others: SharedZoneKeys) {
        zones.merge(others.zones) { $1.replacements > $0.replacements ? $1 : $0 }
    }

    // MARK: Encrypted

    /// Encrypts the keys for the user's devices.
    func sealed(with key: AccountKey, for user: String) throws -> [UInt8] {
        let entries = zones.sorted { ($0.key.owner, $0.key.name) < ($1.key.owner, $1.key.name) }
            .flatMap { zone, keys in
                keys.list.map {
                    Entry(
                        owner: zone.owner, zone: zone.name, key: Data($0.bytes),
                        replacements: keys.replacements)
                }
            }
        do {
            let box = try AES.GCM.seal(
                try JSONEncoder().encode(entries), using: key.keyringKey,
                authenticating: Data(user.utf8))
            // With the library's own nonce there is always a combined form.
            return box.combined.map { [UInt8]($0) } ?? []
        } catch {
            throw CKError(
                .internalError, "The keyring could not be encrypted; see the cause.", cause: error)
        }
    }

    /// Reads what ``sealed(with:for:)`` wrote; no keys if it was damaged or forged, as if the zones
    /// had never been shared.
    init(sealed: [UInt8]?, with key: AccountKey, for user: String) {
        // Damaged or forged: no keys. Encrypted values of these zones read as nil, and the user can
        // open the shares' links again.
        guard let sealed, let box = try? AES.GCM.SealedBox(combined: sealed),
            let data = try? AES.GCM.open(
                box, using: key.keyringKey, authenticating: Data(user.utf8)),
            let entries = try? JSONDecoder().decode([Entry].self, from: data)
        else { return }
        for entry in entries where entry.key.count == ZoneKey.byteCount {
            zones[Zone(owner: entry.owner, name: entry.zone), default: Keys(list: [])].list
                .append(ZoneKey(bytes: [UInt8](entry.key)))
            zones[Zone(owner: entry.owner, name: entry.zone)]?.replacements =
                entry.replacements ?? 0
        }
    }
}

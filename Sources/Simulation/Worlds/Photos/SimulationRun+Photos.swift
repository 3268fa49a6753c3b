import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusService
import StratusTesting
import Synchronization

/// Assets: what users do with them, and what is promised about their files.
extension SimulationRun {
    func attach(_ number: Int, _ record: Int, isCommon: Bool) throws {
        let content = isCommon ? -1 - Int64(record % 2) : ledger.nextNumber()
        let file = try photos.file(content)
        // Only the cache's copy matters.
        defer { try? FileManager.default.removeItem(at: file) }
        try setPhoto(number, record, content, CKAsset(fileURL: file))
    }

    func detach(_ number: Int, _ record: Int) throws {
        try setPhoto(number, record, Ledger.nothing, nil)
    }

    private func setPhoto(
        _ number: Int, _ record: Int, _ content: Int64, _ asset: CKAsset?
    ) throws {
        let device = devices[number]
        let (key, id, scope) = place(record, of: device)
        guard let item = try device.opened().record(for: id, in: scope),
            let life = item["life"] as Int64?, asset != nil || item[Plan.photo] as CKAsset? != nil
        else { return }
        item[Plan.photo] = asset
        var isSaved = false
        do {
            try device.opened().save(item, in: scope)
            isSaved = device.openCache != nil
        } catch {
            // The disk was full or the process ended; the file says which.
        }
        if !isSaved {
            let there = try device.opened().record(for: id, in: scope)
            guard try there.map({ try self.content(of: $0) }) == content else { return }
        }
        try noteEdit(key, life, Plan.photoField, content, id, device, scope)
    }

    /// The number of the photo that a record has here; nil if its file is not here.
    private func content(of record: CKRecord) throws -> Int64? {
        guard let asset = record[Plan.photo] as CKAsset? else { return Ledger.nothing }
        guard let url = asset.fileURL else { return nil }
        return Photos.content(of: try [UInt8](Data(contentsOf: url)))
    }

    func look(_ number: Int, _ record: Int) throws {
        let device = devices[number]
        let (key, id, scope) = place(record, of: device)
        let cache = try device.opened()
        guard try cache.record(for: id, in: scope)?[Plan.photo] as CKAsset? != nil else { return }
        _ = device.world.startTask("script look") { [photos, name = device.name] in
            // A failed view gets an error; at the end each must succeed.
            guard let bytes = try? await Self.look(id, scope, cache) else { return }
            photos.saw(bytes, of: key, on: name)
        }
    }

    private static func look(
        _ id: CKRecord.ID, _ scope: CKDatabase.Scope, _ cache: CloudCache
    ) async throws -> [UInt8]? {
        let asset = try await cache.asset(Plan.photo, of: id, in: scope)
        return try asset.fileURL.map { try [UInt8](Data(contentsOf: $0)) }
    }

    func evict(_ number: Int) throws {
        let device = devices[number]
        let cache = try device.opened()
        _ = device.world.startTask("script evict") {
            // While a file is being saved, nothing is removed.
            try? await cache.removeDownloadedAssets()
        }
    }

    /// The photos that were viewed but never saved in their records.
    func wrongLooks() -> [String] {
        photos.takeLooks().compactMap { look in
            let content = Photos.content(of: look.bytes)
            let saved = ledger.edits(of: look.key, field: Plan.photoField)
            if let content, saved.contains(where: { $0.number == content }) { return nil }
            return "\(look.device): the photo of \(look.key) is "
                + (content.map { "\($0), which no user gave it" } ?? "not one that a user took")
        }
    }

    // MARK: The end

    /// Checks that every device has every photo, with the bytes that were saved, and no other file.
    ///
    /// - Returns: the photo of each record.
    func checkPhotos() async throws -> [Ledger.Key: Int64] {
        var seen: [Ledger.Key: Int64] = [:]
        for device in devices {
            for user in device.files.keys.sorted() {
                if device.user != user { try device.switchAccount(to: user) }
                try await look(at: device, &seen)
            }
        }
        violations += wrongLooks()
        if violations.isEmpty { try await checkStoredPhotos(seen) }
        return seen
    }

    private func look(
        at device: SimulatedDevice, _ seen: inout [Ledger.Key: Int64]
    ) async throws {
        let cache = try device.opened()
        var wanted: Set<Int64> = []
        for record in 0..<Plan.recordsPerZone.reduce(0, +) {
            let (key, id, scope) = place(record, of: device)
            guard try await cache.record(for: id, in: scope)?[Plan.photo] as CKAsset? != nil else {
                continue
            }
            let name = device.name
            // Not recorded with the script's views, some of which still arrive, on any device and of any record.
            let found = Mutex<[UInt8]?>(nil)
            let end = try await ended(device) {
                let bytes = try await Self.look(id, scope, cache)
                found.withLock { $0 = bytes }
            }
            guard end.isEnded, end.trouble == nil, let bytes = found.withLock({ $0 }) else {
                violations.append(
                    "\(name): the photo of \(key) does not come: \(end.trouble ?? "it never ends")")
                continue
            }
            guard let content = Photos.content(of: bytes) else {
                violations.append("\(name): the photo of \(key) is not one that a user took")
                continue
            }
            wanted.insert(content)
            if let other = seen[key], other != content {
                violations.append("\(name): the photo of \(key) is \(content), elsewhere \(other)")
            }
            seen[key] = content
        }
        // A report keeps its records' files until the app has acknowledged it, and some come after the last round.
        let reports = try await cache.reports(limit: 1_000)
        if !reports.isEmpty { try await cache.acknowledge(reports) }
        // Unused files are removed after a second.
        try await world.pass(seconds: 5)
        try checkFolder(of: device, wanted)
    }

    private func checkFolder(of device: SimulatedDevice, _ wanted: Set<Int64>) throws {
        guard let folder = device.photoFolder(ofUser: device.user),
            FileManager.default.fileExists(atPath: folder.path)
        else { return }
        var there: Set<Int64> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let bytes = try [UInt8](Data(contentsOf: folder.appendingPathComponent(name)))
            guard let content = Photos.content(of: bytes) else {
                violations.append("\(device.name): the file \(name) is no photo")
                continue
            }
            there.insert(content)
        }
        for content in there.subtracting(wanted).sorted() {
            violations.append(
                "\(device.name): the file of photo \(content) is left, although no record has it")
        }
        for content in wanted.subtracting(there).sorted() {
            violations.append("\(device.name): the file of photo \(content) is missing")
        }
    }

    /// Checks that the service has the assets of the records, and after two days no others.
    private func checkStoredPhotos(_ seen: [Ledger.Key: Int64]) async throws {
        for _ in 0..<2 {
            await cloud.current.service.collectAssets()
            world.jump(seconds: 2 * 86_400)
        }
        await cloud.current.service.collectAssets()
        var wanted: Set<Int64> = []
        for user in 0..<plan.userCount {
            for (id, record) in try await truth(user).contents[.private] ?? [:] {
                guard case .asset = record[Plan.photo] else { continue }
                guard let zone = Plan.zones.firstIndex(of: id.zoneID.name),
                    let number = Int(id.name.dropFirst()),
                    let content = seen[Ledger.Key(owner: user, zone: zone, record: number)]
                    // None of their devices was there at the end.
                else { return }
                wanted.insert(content)
            }
        }
        let there = try await cloud.storedAssets().compactMap { Photos.content(of: $0) }
        for content in Set(there).subtracting(wanted).sorted() {
            violations.append("the service keeps photo \(content), which no record has")
        }
        for content in wanted.subtracting(there).sorted() {
            violations.append("the service lost photo \(content)")
        }
    }
}

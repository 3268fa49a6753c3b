import Foundation
import StratusClient
import StratusMapping
import StratusService
import StratusTesting
import StratusWire
import Synchronization
import TestSeeds
import Testing

/// Large and cyclic graphs, deletions that race saves, and a long absence.
@Suite(.timeLimit(.minutes(20)))
struct GraphTests {
    static let isLong = ProcessInfo.processInfo.environment["STRATUS_LONG"] != nil

    /// Half people, half homes: each person lives in a home that the next person owns.
    private func addRing(_ device: MappedDevice, count: Int) {
        let homes = (0..<count / 2).map { device.addHome("Road \($0)") }
        let people = homes.indices.map { number in
            device.addPerson("P\(number)") { $0.home = homes[number] }
        }
        for number in homes.indices {
            homes[number].edit { $0.owner = people[(number + 1) % people.count] }
        }
    }

    /// The content of a device, as text.
    private func content(_ device: MappedDevice) -> Set<String> {
        let people = device.store.memory.objects(Person.self).map { person in
            "\(person.syncID ?? "?") \(person.firstName) \(person.age) \(person.home?.syncID ?? "-")"
        }
        let homes = device.store.memory.objects(Home.self).map { home in
            "\(home.syncID ?? "?") \(home.road) \(home.owner?.syncID ?? "-")"
        }
        return Set(people + homes)
    }

    /// With STRATUS_LONG it uses ten thousand objects, for the figures in the guide.
    @Test func largeCyclicGraphIsEqualOnASecondDevice() async throws {
        let count = Self.isLong ? 10_000 : 1_200
        let cloud = TestCloud()
        let types: [any CloudEntity.Type] = [Person.self, Home.self, Course.self]
        let phone = try await MappedDevice(cloud, "phone", types: types)
        let tablet = try await MappedDevice(cloud, "tablet", types: types)
        addRing(phone, count: count)
        let first = try #require(phone.person("P0"))
        let clock = ContinuousClock()
        let saving = try await clock.measure { try await phone.mapping.save(first) }
        let fetching = try await clock.measure { try await tablet.sync() }
        let unchanged = try await clock.measure { try await phone.sync() }
        print(
            """
            \(count) objects in a cycle: saved in \(saving) with \(phone.transport.count) requests \
            (with the sync after it, \(unchanged)), fetched in \(fetching) with \
            \(tablet.transport.count) requests
            """)
        #expect(content(phone).count == count)
        #expect(content(tablet) == content(phone))
        // Each request is full: 400 records in a save, and a full page in a fetch.
        #expect(phone.transport.count < count / 400 * 3 + 20)
        #expect(tablet.transport.count < count / 100 + 20)
    }

    /// Two devices edit, link, save, delete and sync objects of a ring at the same time.
    @Test(arguments: Seeds.forTest("MappingGraphTests", count: 6))
    func deletionsRacingSavesConverge(seed: UInt64) async throws {
        let cloud = TestCloud()
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        addRing(phone, count: 40)
        try await phone.sync()
        try await tablet.sync()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, device) in [phone, tablet].enumerated() {
                group.addTask {
                    var numbers = SeededNumbers(seed: seed &+ UInt64(number))
                    for step in 0..<40 { try await Self.act(device, step, &numbers) }
                }
            }
            try await group.waitForAll()
        }
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        let cloudNames = Set(
            try await (phone.records("Person") + phone.records("Home")).map(\.recordID.recordName))
        for device in [phone, tablet] {
            let people = device.store.memory.objects(Person.self)
            let homes = device.store.memory.objects(Home.self)
            #expect(
                Set((people.map(\.syncID) + homes.map(\.syncID)).compactMap { $0 }) == cloudNames)
        }
        func fields(_ device: MappedDevice) -> Set<String> {
            Set(
                device.store.memory.objects(Person.self).map {
                    "\($0.syncID ?? "") \($0.firstName) \($0.age)"
                })
        }
        #expect(fields(phone) == fields(tablet))
    }

    private static func act(
        _ device: MappedDevice, _ step: Int, _ numbers: inout SeededNumbers
    ) async throws {
        let people = device.store.memory.objects(Person.self).sorted { $0.firstName < $1.firstName }
        let homes = device.store.memory.objects(Home.self).sorted { $0.road < $1.road }
        guard let person = people.randomElement(using: &numbers),
            let home = homes.randomElement(using: &numbers)
        else { return }
        do {
            switch Int.random(in: 0..<6, using: &numbers) {
            case 0:
                device.store.memory.remove(person)
                try await device.mapping.delete(person)
            case 1:
                device.store.memory.remove(home)
                try await device.mapping.delete(home)
            case 2:
                person.edit { $0.home = home }
                try await device.mapping.save(person)
            case 3:
                home.edit { $0.owner = person }
                try await device.mapping.save(home)
            case 4:
                person.edit { $0.age = step }
                try await device.mapping.save(person)
            default: try await device.sync()
            }
        } catch let error as MappingError
            where [.deleted, .contended, .linkNotSaved].contains(error.code)
        {
            // Another device changed the object first.
            return
        } catch let error as CKError where error.hasConflict {
            return
        }
    }

    /// When the device comes back, the tombstones were purged long ago.
    @Test func deviceOfflineForAYearSyncsCompletely() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        for number in 0..<20 { _ = phone.addPerson("P\(number)") }
        try await phone.sync()
        try await tablet.sync()
        let edited = try #require(tablet.person("P3"))
        edited.edit { $0.age = 33 }
        for number in 0..<10 where number != 3 {
            let person = try #require(phone.person("P\(number)"))
            phone.store.memory.remove(person)
            try await phone.mapping.delete(person)
        }
        clock.advance(bySeconds: 366 * 86_400)
        _ = phone.addPerson("New")
        let later = try await phone.restarted()
        try await later.sync()
        // The service expires old change tokens by itself within a year.
        cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        tablet.store.forgetReceived()
        try await tablet.restarted().sync()
        #expect(cloud.faults.remaining.isEmpty)
        #expect(tablet.store.received.withLock { $0.deleted.count } == 9)
        #expect(
            Set(tablet.store.memory.objects(Person.self).map(\.firstName))
                == Set((10..<20).map { "P\($0)" } + ["P3", "New"]))
        // Its old edit is not lost, and no deleted object came back.
        try await later.sync()
        #expect(phone.person("P3")?.age == 33)
        #expect(phone.store.memory.objects(Person.self).count == 12)
    }

    @Test func restartedDeviceAppliesTheDeletionQueueOfThePublicDatabase() async throws {
        let cloud = TestCloud()
        let phone = try await MappedDevice(cloud, "phone", scope: .public)
        let tablet = try await MappedDevice(cloud, "tablet", scope: .public)
        for number in 0..<10 { _ = phone.addPerson("P\(number)") }
        try await phone.sync()
        try await tablet.sync()
        for number in 0..<5 {
            let person = try #require(phone.person("P\(number)"))
            phone.store.memory.remove(person)
            try await phone.mapping.delete(person)
        }
        #expect(try await phone.records("DeleteQueue").count == 5)
        try await tablet.restarted().sync()
        #expect(tablet.store.memory.objects(Person.self).count == 5)
        #expect(try await phone.records("DeleteQueue").isEmpty)
    }
}

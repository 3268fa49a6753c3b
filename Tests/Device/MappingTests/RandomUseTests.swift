import Foundation
import StratusClient
import StratusMapping
import StratusRuntime
import StratusTesting
import TestSeeds
import Testing

/// Three devices of one person use objects at random, directly on a database: sometimes without a network, with
/// restarts, and one device after the other. At the end every device has the newest edit of each object, and no deleted
/// object.
@Suite(.timeLimit(.minutes(20)))
struct RandomUseTests {
    /// The objects that must exist at the end.
    struct Expected {
        var ages: [String: Int] = [:]
        var deleted: Set<String> = []
    }

    /// The devices while they are used.
    struct Use {
        var devices: [MappedDevice]
        var numbers: SeededNumbers
        var expected = Expected()
        var made = 0

        mutating func step(_ number: Int) async throws {
            let place = Int.random(in: 0..<devices.count, using: &numbers)
            let device = devices[place]
            let date = Date(timeIntervalSince1970: 1_000_000 + Double(number))
            let isSaved = Int.random(in: 0..<3, using: &numbers) > 0
            switch Int.random(in: 0..<16, using: &numbers) {
            case 0..<3: try await make(device, date, isSaved)
            case 3..<7: try await edit(device, number, date, isSaved)
            case 7: try await link(device, date, isSaved)
            case 8: try await delete(device)
            case 9: device.transport.isOffline.toggle()
            case 10:
                let isOffline = device.transport.isOffline
                devices[place] = try await device.restarted()
                devices[place].transport.isOffline = isOffline
            case 11: try await calmly { try await device.sync(forced: true) }
            case 12: try await undo(device, date)
            default: try await calmly { try await device.sync() }
            }
        }

        private mutating func make(_ device: MappedDevice, _ date: Date, _ isSaved: Bool)
            async throws
        {
            made += 1
            let home = device.addHome("H\(made)")
            let person = device.addPerson("P\(made)") { $0.home = home }
            home.edit { $0.owner = person }
            for var object in [person, home] as [any CloudKeyed] { object.changeDate = date }
            expected.ages["P\(made)"] = 18
            if isSaved { try await calmly { try await device.mapping.save(person) } }
        }

        private func people(_ device: MappedDevice) -> [Person] {
            device.store.memory.objects(Person.self).sorted { $0.firstName < $1.firstName }
        }

        private mutating func edit(
            _ device: MappedDevice, _ number: Int, _ date: Date, _ isSaved: Bool
        ) async throws {
            guard let person = people(device).randomElement(using: &numbers) else { return }
            person.edit { $0.age = number }
            person.changeDate = date
            expected.ages[person.firstName] = number
            if isSaved { try await calmly { try await device.mapping.save(person) } }
        }

        /// Saves a home and its owner, whose last edit may be long ago.
        private mutating func link(_ device: MappedDevice, _ date: Date, _ isSaved: Bool)
            async throws
        {
            let homes = device.store.memory.objects(Home.self).sorted { $0.road < $1.road }
            guard let home = homes.randomElement(using: &numbers) else { return }
            let owner = people(device).randomElement(using: &numbers)
            home.edit { $0.owner = owner }
            home.changeDate = date
            if isSaved { try await calmly { try await device.mapping.save(home) } }
        }

        private mutating func delete(_ device: MappedDevice) async throws {
            guard let person = people(device).randomElement(using: &numbers) else { return }
            expected.deleted.insert(person.firstName)
            device.store.memory.remove(person)
            try await calmly { try await device.mapping.delete(person) }
        }

        private mutating func undo(_ device: MappedDevice, _ date: Date) async throws {
            guard let person = people(device).randomElement(using: &numbers),
                person.undo()
            else { return }
            person.changeDate = date
            // The undo may also take back the person's name, to the one before the first edit.
            let name = person.firstName.isEmpty ? nil : person.firstName
            guard let name else { return try await redo(device, person, date) }
            expected.ages[name] = person.age
            try await calmly { try await device.mapping.save(person) }
        }

        private mutating func redo(
            _ device: MappedDevice, _ person: Person, _ date: Date
        ) async throws {
            person.undo()
            person.changeDate = date
            expected.ages[person.firstName] = person.age
            try await calmly { try await device.mapping.save(person) }
        }

        /// Another device changed the object first, or there is no network: a later sync sends the change.
        private func calmly(_ body: () async throws -> Void) async throws {
            do {
                try await body()
            } catch let error as MappingError
                where [.deleted, .contended, .linkNotSaved].contains(error.code)
            {
                return
            } catch let error as CKError where error.code == .networkFailure {
                return
            }
        }
    }

    /// The content of a device, as text; a missing home is written as none.
    private func content(_ device: MappedDevice) -> Set<String> {
        let homes = device.store.memory.objects(Home.self)
        let people = device.store.memory.objects(Person.self)
        return Set(
            people.map { person in
                let home = homes.first { $0 === person.home }?.road ?? "-"
                return "\(person.firstName) \(person.age) \(home)"
            }
                + homes.map { home in
                    let owner = people.first { $0 === home.owner }?.firstName ?? "-"
                    return "\(home.road) \(owner)"
                })
    }

    /// A world in which no time passes, however busy the machine is: no request times out, and no mapping retries after
    /// a pause, such as one from before a restart.
    private static let world: World = {
        @Sendable func forever(_: Double) async throws {
            let silence = AsyncStream<Void> { _ in }
            for await _ in silence {}
            throw CancellationError()
        }
        return World(sleep: forever, timeout: forever)
    }()

    @Test(arguments: Seeds.forTest("RandomUseTests", count: 12))
    func devicesConvergeToTheNewestEdits(seed: UInt64) async throws {
        let cloud = TestCloud()
        let scope: CKDatabase.Scope = seed.isMultiple(of: 2) ? .private : .public
        var use = Use(devices: [], numbers: SeededNumbers(seed: seed))
        for name in ["phone", "tablet", "watch"] {
            use.devices.append(try await MappedDevice(cloud, name, scope: scope, world: Self.world))
        }
        for number in 0..<80 { try await use.step(number) }
        for device in use.devices { device.transport.isOffline = false }
        for _ in 0..<3 {
            for device in use.devices { try await device.sync() }
        }
        let first = content(use.devices[0])
        for device in use.devices.dropFirst() { #expect(content(device) == first, "seed \(seed)") }
        let ages = Dictionary(
            use.devices[0].store.memory.objects(Person.self).map { ($0.firstName, $0.age) }
        ) { $1 }
        #expect(
            ages == use.expected.ages.filter { !use.expected.deleted.contains($0.key) },
            "seed \(seed)")
        let records = try await use.devices[0].records("Person")
        #expect(
            Dictionary(
                records.map { ($0["firstName"] as String? ?? "", $0["age"] as Int? ?? 0) }
            ) { $1 } == ages, "seed \(seed)")
    }
}

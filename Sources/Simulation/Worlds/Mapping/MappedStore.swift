import StratusClient
import StratusMapping
import StratusRuntime

/// The objects of a device in a world of mapped objects. The next process reads what the previous one had.
final class MappedStore: CloudStore {
    /// The process ended: nothing that it began is written any more.
    struct Ended: Error {}

    private let memory = MemoryStore(
        MappedHut.self, MappedValley.self, MappedTrail.self, MappedSign.self)
    private let world: World
    private let end = KillSwitch()

    init(_ world: World) { self.world = world }

    /// A copy of everything, as another process reads it.
    func reread() -> MappedStore {
        end.throwOver()
        let store = MappedStore(world)
        var copies: [ObjectIdentifier: any MappedEntity] = [:]
        let objects = objects
        for object in objects {
            copies[ObjectIdentifier(object)] = store.insertCopy(of: object)
        }
        for copy in store.objects {
            // Removed objects are no longer in the app's tables.
            copy.replaceTargets { targets in targets.compactMap { copies[ObjectIdentifier($0)] } }
        }
        return store
    }

    private func insertCopy<Entity: MappedEntity>(of object: Entity) -> Entity {
        let copy = object.copied(world)
        memory.insert(copy)
        return copy
    }

    /// All objects, by their numbers.
    var objects: [any MappedEntity] {
        let all: [any MappedEntity] =
            memory.objects(MappedHut.self) + memory.objects(MappedValley.self)
            + memory.objects(MappedTrail.self) + memory.objects(MappedSign.self)
        return all.sorted { ($0.number, $0.syncID ?? "") < ($1.number, $1.syncID ?? "") }
    }

    func insert(_ object: any MappedEntity) { memory.insert(object) }

    func forget(_ object: any MappedEntity) { memory.remove(object) }

    /// Lets other tasks run, as in an app whose tables are on another thread.
    private func beginTurn() async throws {
        await Task.yield()
        if end.isThrown { throw Ended() }
    }

    func all<Entity: CloudEntity>(_ type: Entity.Type) async throws -> [Entity] {
        try await beginTurn()
        return objects.compactMap { $0 as? Entity }
    }

    func create<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity {
        try await beginTurn()
        guard var made = (type as? any MappedEntity.Type)?.make(0, world) else {
            throw MappingError(.notSetUp, "\(type) is no object of the world; make it one.")
        }
        made.syncID = syncID
        insert(made)
        guard let entity = made as? Entity else {
            throw MappingError(.notSetUp, "\(type) is no object of the world; make it one.")
        }
        return entity
    }

    func fetch<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity? {
        try await beginTurn()
        return try await memory.fetch(type, syncID: syncID)
    }

    func remove<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws {
        try await beginTurn()
        try await memory.remove(type, syncID: syncID)
    }

    func keep<Entity: CloudEntity>(_ entity: Entity) async throws {
        try await beginTurn()
        try await memory.keep(entity)
    }
}

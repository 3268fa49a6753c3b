import StratusClient
import Synchronization

/// An entity that can be created empty.
public protocol CloudCreatable: CloudEntity {
    /// Makes an object with initial values; a sync then sets its sync ID and fills it from the record.
    init()
}

/// A store in memory.
///
/// ```swift
/// let store = MemoryStore(Person.self, Home.self)
/// ```
public final class MemoryStore: CloudStore {
    private struct Table {
        /// Makes an empty object; nil for a type that was not passed to the initializer.
        var make: (@Sendable () -> any CloudEntity)?
        var named: [String: any CloudEntity] = [:]
        /// Objects that had no sync ID when they were inserted.
        var unnamed: [any CloudEntity] = []
    }

    private let tables: Mutex<[ObjectIdentifier: Table]>

    /// - Parameter types: the types whose new objects a sync creates.
    public init(_ types: any CloudCreatable.Type...) {
        var tables: [ObjectIdentifier: Table] = [:]
        for type in types { tables[ObjectIdentifier(type)] = Table(make: { type.init() }) }
        self.tables = Mutex(tables)
    }

    /// Adds an object, or replaces the struct of the same sync ID.
    public func insert<Entity: CloudEntity>(_ entity: Entity) {
        update(Entity.self) { table in
            if let name = entity.cloudID {
                table.named[name] = entity
                table.unnamed.removeAll { $0.isSame(as: entity) }
            } else if !table.unnamed.contains(where: { $0.isSame(as: entity) }) {
                table.unnamed.append(entity)
            }
        }
    }

    /// All objects of a type.
    public func objects<Entity: CloudEntity>(_ type: Entity.Type = Entity.self) -> [Entity] {
        update(Entity.self) { table in
            Self.name(&table)
            return (Array(table.named.values) + table.unnamed).compactMap { $0 as? Entity }
        }
    }

    /// The object of a sync ID.
    public func object<Entity: CloudEntity>(
        _ type: Entity.Type = Entity.self, syncID: String
    ) -> Entity? {
        update(Entity.self) { table in
            if table.named[syncID] == nil { Self.name(&table) }
            return table.named[syncID] as? Entity
        }
    }

    /// Removes an object from this store only.
    public func remove<Entity: CloudEntity>(_ entity: Entity) {
        update(Entity.self) { table in
            if let name = entity.cloudID { table.named[name] = nil }
            table.unnamed.removeAll { $0.isSame(as: entity) }
        }
    }

    public func all<Entity: CloudEntity>(_ type: Entity.Type) async throws -> [Entity] {
        objects(type)
    }

    public func create<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity {
        let made = update(Entity.self) { $0.make?() as? Entity }
        guard var entity = made else {
            throw MappingError(
                .notSetUp,
                "The MemoryStore does not have \(Entity.self). Pass it when you create the store.")
        }
        entity.cloudID = syncID
        insert(entity)
        return entity
    }

    public func fetch<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity? { object(type, syncID: syncID) }

    public func remove<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws {
        update(Entity.self) { table in
            Self.name(&table)
            table.named[syncID] = nil
        }
    }

    /// Replaces a struct's former value; an object that was removed meanwhile stays removed.
    public func keep<Entity: CloudEntity>(_ entity: Entity) async throws {
        update(Entity.self) { table in
            Self.name(&table)
            if let name = entity.cloudID, table.named[name] != nil { table.named[name] = entity }
        }
    }

    /// Indexes the objects that got a sync ID meanwhile.
    private static func name(_ table: inout Table) {
        table.unnamed.removeAll { entity in
            guard let name = entity.cloudID else { return false }
            table.named[name] = entity
            return true
        }
    }

    @discardableResult
    private func update<Entity: CloudEntity, Value>(
        _ type: Entity.Type, _ body: (inout Table) -> sending Value
    ) -> Value {
        tables.withLock { tables in
            // Removed while it is changed, so that a large table is not copied.
            var table = tables.removeValue(forKey: ObjectIdentifier(type)) ?? Table()
            defer { tables[ObjectIdentifier(type)] = table }
            return body(&table)
        }
    }
}

import StratusQuery
import StratusSchema
import StratusStorage
import StratusWire

/// The parts of a running service.
///
/// Only ``CloudService`` creates them, and only an endpoint's ``ServedEndpoint/answer(_:)`` sees them all: it
/// passes to each rule the few that the rule needs.
public final class ServiceComponents: Sendable {
    let settings: ServiceSettings
    let storage: any StorageEngine
    let directory: any Directory
    let databases: Databases
    let signerSource: TokenSignerSource
    let accounts: Accounts
    let archives = ArchiveTurns()
    let schemas: SchemaCache
    let indexes: IndexManager
    let subscriptions: SubscriptionCache
    let courier: Courier
    let devices: Devices
    let notifications: Notifications
    let records: RecordWriting
    let longChanges: LongChanges
    let accountEnds: AccountEnds
    let tombstones: TombstonePurge
    let outcomeRoom: OutcomeRoom
    let uploads: UserUploads
    let errors: ErrorTranslation
    let memory: MemoryBudget

    init(storage: any StorageEngine, settings: ServiceSettings, faults: FaultScript?) {
        self.storage = storage
        self.settings = settings
        directory = storage.directory
        signerSource = TokenSignerSource(directory: directory)
        let memory = MemoryBudget(limitBytes: settings.limits.memoryBytes)
        self.memory = memory
        errors = ErrorTranslation(logger: settings.logger)
        accounts = Accounts(directory: directory, settings: settings, memory: memory)
        schemas = SchemaCache(directory: directory, limits: settings.limits)
        indexes = IndexManager(
            limits: settings.limits, world: settings.world, logger: settings.logger)
        subscriptions = SubscriptionCache()
        let courier = Courier(limits: settings.limits, world: settings.world)
        self.courier = courier
        let devices = Devices(
            directory: directory, limits: settings.limits, world: settings.world, courier: courier,
            pushes: settings.pushDelivery.map {
                PushQueue(
                    directory: storage.directory, limits: settings.limits, world: settings.world,
                    logger: settings.logger, delivery: $0)
            })
        self.devices = devices
        notifications = Notifications(
            storage: storage, settings: settings, subscriptions: subscriptions,
            schemas: schemas, devices: devices, errors: errors,
            deliver: { deliveries in
                await devices.deliver(faults?.applied(to: deliveries) ?? deliveries)
            })
        records = RecordWriting(
            subscriptions: subscriptions, notifications: notifications,
            ancestorLimits: AncestorMaintainer.AncestorLimits(settings.limits),
            recordsAtOnce: settings.limits.recordsPerCascade)
        tombstones = TombstonePurge(
            limits: settings.limits, world: settings.world, logger: settings.logger)
        outcomeRoom = OutcomeRoom(limits: settings.limits, world: settings.world)
        longChanges = LongChanges(
            records: records, tombstones: tombstones, limits: settings.limits,
            world: settings.world, logger: settings.logger)
        databases = Databases(
            storage: storage, notifications: notifications, longChanges: longChanges,
            errors: errors)
        accountEnds = AccountEnds(world: settings.world, logger: settings.logger)
        uploads = UserUploads(
            underWay: UploadsUnderWay(limit: settings.limits.uploadsPerUser))
    }

    var zoneRemoval: ZoneRemoval {
        ZoneRemoval(
            databases: databases, longChanges: longChanges, directory: directory,
            logger: settings.logger)
    }

    var savingRecords: RecordsModify.Stores {
        RecordsModify.Stores(
            schemas: schemas, indexes: indexes, longChanges: longChanges, tombstones: tombstones,
            directory: directory, world: settings.world, logger: settings.logger)
    }

    /// Makes the calls to the endpoints.
    var calls: EndpointCalls { EndpointCalls(self) }

    var ownRequests: OwnRequests {
        OwnRequests(databases: databases, schemas: schemas, calls: calls)
    }

    func tokenSigner() async throws -> TokenSigner { try await signerSource.signer() }
}

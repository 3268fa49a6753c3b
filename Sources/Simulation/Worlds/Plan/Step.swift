/// A step in a simulated world: something that a user does, or that happens. Devices and records are numbers.
enum Step: Hashable, Sendable {
    /// A user sets a field of an existing record.
    case edit(device: Int, record: Int, field: Int)
    /// A user creates a record, or creates it again: only its maker's device does.
    case make(device: Int, record: Int)
    case delete(device: Int, record: Int)
    case sync(device: Int)
    case start(device: Int)
    case stop(device: Int)
    /// The process ends between two steps.
    case kill(device: Int)
    /// The cache object is released without being closed.
    case drop(device: Int)
    /// The process ends at a write, before or after it.
    case killAtWrite(device: Int, later: Int, isAfter: Bool)
    /// The power of a device is cut at a write.
    case cutPower(device: Int, later: Int, SimulatedDisk.End)
    /// The service's process ends at a write, or its power is cut.
    case endService(later: Int, SimulatedDisk.End)
    /// The process ends between the commit of the next batch of records and the answer to it.
    case dieUnanswered(device: Int)
    /// Two records are changed in one atomic request: one loses what the other gets.
    case transfer(user: Int)
    /// The disk is full for this many writes.
    case fillDisk(device: Int, writes: Int)
    /// The service's disk is full for a while.
    case fillService(seconds: Int)
    case cutOff(device: Int)
    case reconnect(device: Int)
    case deleteZone(device: Int)
    case purgeZone(user: Int)
    /// A user creates a record in the zone that will be deleted permanently.
    case fillGoneZone(device: Int)
    case deleteGoneZone(device: Int)
    case switchAccount(device: Int)
    /// A newer version of the app is installed on a device.
    case updateApp(device: Int)
    /// A participant leaves the share.
    case leave(device: Int)
    case join(user: Int)
    case takeCopy
    case restoreCopy
    case audit
    /// A user gives a record a photo: a separate one, or one that other records have too.
    case attach(device: Int, record: Int, isCommon: Bool)
    case detach(device: Int, record: Int)
    /// A user views a record's photo, which is downloaded if it is not here.
    case look(device: Int, record: Int)
    /// The same for every record.
    case lookAtAll(device: Int)
    /// The device makes room: photos that can be downloaded again are removed.
    case evict(device: Int)
    /// The app stops syncing its permanent zone on a device.
    case detachZone(device: Int)
    /// Every zone of the device is synced again.
    case attachZones(device: Int)
    /// The app discards the changes that the service refused.
    case discard(device: Int)
    /// The app takes the service's versions in place of the changes that the service refused.
    case takeServiceVersions(device: Int)
    case retry(device: Int)
    case refetchEverything(device: Int)
    /// The app deletes all records and zones of the user's private database.
    case deleteEverything(device: Int)
    /// An app does more than edit one record.
    case app(AppStep)
    /// Other tasks run for this many steps.
    case turns(Int)
    case pass(seconds: Int)
    /// All devices and the service sleep.
    case jump(seconds: Int)

    /// The step as it is printed; the frequent ones without reflection.
    var text: String {
        switch self {
        case .edit(let device, let record, let field):
            "edit(device: \(device), record: \(record), field: \(field))"
        case .make(let device, let record): "make(device: \(device), record: \(record))"
        case .delete(let device, let record): "delete(device: \(device), record: \(record))"
        case .sync(let device): "sync(device: \(device))"
        case .start(let device): "start(device: \(device))"
        case .stop(let device): "stop(device: \(device))"
        case .kill(let device): "kill(device: \(device))"
        case .turns(let count): "turns(\(count))"
        case .pass(let seconds): "pass(seconds: \(seconds))"
        case .app(let step): "\(step)"
        default: "\(self)"
        }
    }

    /// The faults that must occur in both lanes.
    static let faultsOfEveryLane = [
        "stop", "kill", "drop", "kill before write", "kill after write", "disk full", "partition",
        "zone deleted", "zone purged", "account switched", "app updated", "share left",
        "older copy restored", "zone detached", "change withdrawn", "everything deleted",
        "asleep for long",
    ]

    /// The row in the table of faults; nil for a step that is not a fault, and for one whose fault is counted when it
    /// happens: at a write, or with a request.
    var fault: String? {
        switch self {
        case .stop: "stop"
        case .kill: "kill"
        case .drop: "drop"
        case .cutOff: "partition"
        case .deleteZone, .deleteGoneZone: "zone deleted"
        case .purgeZone: "zone purged"
        case .switchAccount: "account switched"
        case .updateApp: "app updated"
        case .leave, .app(.leaveNotebook): "share left"
        case .detachZone: "zone detached"
        case .discard, .takeServiceVersions: "change withdrawn"
        case .deleteEverything: "everything deleted"
        case .jump: "asleep for long"
        default: nil
        }
    }
}

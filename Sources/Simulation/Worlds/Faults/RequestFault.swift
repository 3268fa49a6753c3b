import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization

/// What goes wrong with one request of a device.
enum RequestFault: Hashable, Sendable {
    /// There is no network: nothing is sent.
    case noRoute
    /// The request never arrives.
    case requestLost
    /// The request is served, and its answer never arrives.
    case answerLost
    /// The request arrives twice.
    case doubled
    /// The request arrives late, after others.
    case late
    /// The request arrives when the device no longer waits for it, and has perhaps decided its outcome.
    case abandoned
    /// Every change token in it has expired.
    case tokensExpired
    /// The service refuses it.
    case refused(FrameworkErrorCode)
    /// The service refuses one item of it, such as a record or a zone, and serves the others.
    case itemRefused(FrameworkErrorCode)

    var name: String {
        switch self {
        case .noRoute: "no route"
        case .requestLost: "request lost"
        case .answerLost: "answer lost"
        case .doubled: "doubled"
        case .late: "late"
        case .abandoned: "abandoned"
        case .tokensExpired: "tokens expired"
        case .refused(let code): "\(code)"
        case .itemRefused(let code): "item \(code)"
        }
    }

    /// The codes with which a service may refuse a request without contradicting what it has: a zone that it calls
    /// purged, or a token that it calls expired, must really be so.
    static let requestCodes = FrameworkErrorCode.allCases.filter {
        ![.partialFailure, .userDeletedZone, .zoneNotFound, .unknownItem, .changeTokenExpired]
            .contains($0)
    }

    /// The same for a request that cancels others: without permanent refusals, after which the cache continues without
    /// it.
    static let cancelCodes = requestCodes.filter {
        ![.limitExceeded, .serverRejectedRequest].contains($0)
            && RecoveryAction.forRequest($0) != .halt
    }

    /// The same for one record: without codes for a record that is gone, or for a schema without a field of times.
    private static let recordCodes = requestCodes.filter {
        ![.notAuthenticated, .invalidArguments, .serverRejectedRequest].contains($0)
    }

    /// The codes that services answer for one of several things to read.
    private static let readCodes: [FrameworkErrorCode] = [
        .permissionFailure, .requestRateLimited, .serverRejectedRequest, .serviceUnavailable,
        .zoneBusy,
    ]
    /// The same for one of several zones, subscriptions or files to save.
    private static let saveCodes =
        readCodes + [.invalidArguments, .limitExceeded, .quotaExceeded]

    /// The codes with which a service may refuse one item of a request to an operation; empty if it has no items.
    static func itemCodes(of path: String) -> [FrameworkErrorCode] {
        switch path {
        case RecordsModify.path: recordCodes
        case RecordsLookup.path, ChangesZone.path: readCodes
        case ZonesModify.path, SubscriptionsModify.path, AssetsUpload.path: saveCodes
        default: []
        }
    }
}

/// Draws what goes wrong with the requests of one device.
final class FaultDice: Sendable {
    private struct State {
        var numbers: SeededNumbers
        /// Those of refused items, other than records to save.
        var items: SeededNumbers
        /// The fraction of the requests that meet a fault.
        var rate: Double
        var isCutOff = false
        var processEnd: EndBeforeAnswer?
    }

    private let state: Mutex<State>
    private let table: FaultTable

    /// - Parameter endsProcess: whether the device's process may end before the answer to a request.
    init(seed: UInt64, rate: Double, endsProcess: Bool = false, table: FaultTable) {
        state = Mutex(
            State(
                numbers: SeededNumbers(seed: seed),
                items: SeededNumbers(seed: seed ^ 0x4954_454D), rate: rate,
                processEnd: endsProcess ? EndBeforeAnswer(seed: seed) : nil))
        self.table = table
    }

    /// Whether no request of the device arrives.
    var isCutOff: Bool {
        get { state.withLock { $0.isCutOff } }
        set { state.withLock { $0.isCutOff = newValue } }
    }

    func end() {
        state.withLock { state in
            state.rate = 0
            state.isCutOff = false
            state.processEnd = nil
        }
    }

    /// Whether the device's process ends before the answer to a request, now that the service has served it.
    func endsProcess(before path: String) -> Bool {
        state.withLock { $0.processEnd?.isDue(after: path) ?? false }
    }

    /// Counts a fault that was not drawn here.
    func count(_ fault: String, _ path: String) { table.count(fault, path) }

    /// A random duration in milliseconds, from 0 up to a limit.
    func milliseconds(below limit: UInt64) -> Double {
        state.withLock { Double($0.numbers.next() % limit) }
    }

    /// - Parameter mayDouble: whether the request may arrive twice, or after the device has given it up.
    func draw(for path: String, mayDouble: Bool) -> RequestFault? {
        let fault = state.withLock { state -> RequestFault? in
            if state.isCutOff { return .noRoute }
            let rate = state.rate * Self.weight(of: path)
            guard Self.chance(&state.numbers) < min(rate, Self.limit(of: path)) else {
                return Self.refusedItem(of: path, state.rate, &state.items)
            }
            let fault = Self.fault(for: path, &state.numbers)
            return mayDouble || ![.doubled, .abandoned].contains(fault) ? fault : nil
        }
        if let fault { table.count(fault.name, path) }
        return fault
    }

    private static func chance(_ numbers: inout SeededNumbers) -> Double {
        Double(numbers.next() >> 11) * 0x1p-53
    }

    /// How often an operation meets faults, compared with others: more often if it is rare or has many kinds of faults,
    /// so that each pair occurs.
    private static func weight(of path: String) -> Double {
        switch path {
        case RecordsModify.path, ZonesModify.path: 2.5
        case OperationsCancel.path: 10
        case SubscriptionsLookup.path, SubscriptionsModify.path: 4
        case RecordsResolve.path, RecordsAccept.path: 4
        case TokensRegister.path: 2
        case "assets/get": 16
        case _ where isRare(path): 8
        default: 1
        }
    }

    /// The largest fraction of its requests that meet a fault.
    private static func limit(of path: String) -> Double {
        switch path {
        case "assets/get": 0.8
        // It follows a request for an address, of which some are refused.
        case "assets/put": 0.55
        default: 0.5
        }
    }

    /// The refusal of one item of a request that meets no other fault; nil for most.
    private static func refusedItem(
        of path: String, _ rate: Double, _ numbers: inout SeededNumbers
    ) -> RequestFault? {
        let codes = path == RecordsModify.path ? [] : RequestFault.itemCodes(of: path)
        guard !codes.isEmpty,
            chance(&numbers) < (path == ChangesZone.path ? rate / 20 : rate)
        else { return nil }
        return .itemRefused(codes[numbers.below(codes.count)])
    }

    /// Which of several items is refused; nil for none.
    func place(in count: Int) -> Int? {
        count > 0 ? state.withLock { $0.items.below(count) } : nil
    }

    /// Whether an operation is so rare that most of its faults are refusals, which have the most kinds.
    private static func isRare(_ path: String) -> Bool {
        path.hasPrefix("assets/")
            || [RecordsLookup.path, RecordsResolve.path, RecordsAccept.path].contains(path)
    }

    private static func fault(for path: String, _ numbers: inout SeededNumbers) -> RequestFault {
        let isChanges = path.hasPrefix("changes/")
        let isModify = path == RecordsModify.path
        let number = numbers.next() % 100
        switch isRare(path) ? number * 3 : number {
        case 0..<20: return .answerLost
        case 20..<27: return .requestLost
        case 27..<32: return .noRoute
        case 32..<40: return .doubled
        case 40..<46: return .late
        case 46..<57: return .abandoned
        case 57..<66 where isChanges: return .tokensExpired
        case 57..<72 where isModify:
            let codes = RequestFault.itemCodes(of: path)
            return .itemRefused(codes[Int(numbers.next() % UInt64(codes.count))])
        default:
            let codes =
                path == OperationsCancel.path
                ? RequestFault.cancelCodes : RequestFault.requestCodes
            return .refused(codes[Int(numbers.next() % UInt64(codes.count))])
        }
    }
}

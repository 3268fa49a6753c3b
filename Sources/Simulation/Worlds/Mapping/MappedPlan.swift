import StratusTesting

/// A step in a world of mapped objects. Objects are indices into those that the device has.
enum MappedStep: Hashable, Sendable {
    case make(device: Int, kind: Int, target: Int)
    case edit(device: Int, object: Int, place: Int, isSaved: Bool)
    case link(device: Int, object: Int, target: Int, isSaved: Bool)
    case delete(device: Int, object: Int)
    case sync(device: Int)
    case forcedSync(device: Int)
    case start(device: Int)
    case kill(device: Int)
    case killAtWrite(device: Int, later: Int, isAfter: Bool)
    case cutOff(device: Int)
    case reconnect(device: Int)
    case turns(Int)
    case pass(seconds: Int)
}

/// A world of mapped objects before it runs; all of it comes from the seed.
struct MappedPlan: Sendable {
    var seed: UInt64
    var deviceCount: Int
    var skewsMilliseconds: [Int64] = []
    var faultRate: Double
    var steps: [MappedStep] = []

    init(seed: UInt64, stepCount: Int = 70) {
        var numbers = SeededNumbers(seed: seed ^ 0x4D41_5050)
        self.seed = seed
        deviceCount = [2, 2, 3][numbers.below(3)]
        faultRate = [0, 0, 0.05, 0.15][numbers.below(4)]
        for _ in 0..<deviceCount {
            skewsMilliseconds.append(
                numbers.below(2) == 0 ? 0 : Int64(numbers.below(7_200_000)) - 3_600_000)
        }
        for _ in 0..<stepCount { steps.append(step(&numbers)) }
    }

    private func step(_ numbers: inout SeededNumbers) -> MappedStep {
        let device = numbers.below(deviceCount)
        let (object, other) = (numbers.below(64), numbers.below(64))
        let isSaved = numbers.below(3) > 0
        switch numbers.below(100) {
        case 0..<14: return .make(device: device, kind: numbers.below(4), target: other)
        case 14..<32:
            return .edit(
                device: device, object: object, place: numbers.below(2), isSaved: isSaved)
        case 32..<44:
            return .link(device: device, object: object, target: other, isSaved: isSaved)
        case 44..<50: return .delete(device: device, object: object)
        case 50..<68: return .sync(device: device)
        case 68: return .forcedSync(device: device)
        case 69..<71: return .start(device: device)
        case 71..<73: return .kill(device: device)
        case 73..<75:
            return .killAtWrite(
                device: device, later: numbers.below(12), isAfter: numbers.below(2) == 0)
        case 75: return .cutOff(device: device)
        case 76..<79: return .reconnect(device: device)
        case 79..<93: return .turns([3, 20, 100, 600][numbers.below(4)])
        default: return .pass(seconds: [1, 5, 60][numbers.below(3)])
        }
    }
}

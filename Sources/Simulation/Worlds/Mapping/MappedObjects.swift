import Foundation
import StratusClient
import StratusMapping
import StratusRuntime

// The objects of a world of mapped objects: huts in valleys that refer back, and signs that are deleted with their
// trails.

typealias MappedHut = CloudObject<HutFields>
typealias MappedValley = CloudObject<ValleyFields>
typealias MappedTrail = CloudObject<TrailFields>
typealias MappedSign = CloudObject<SignFields>

/// What all objects have: their own number, and in each field the number of the edit that set it.
protocol MappedFields: CloudFields {
    var number: Int64 { get set }
    var edits: [Int64] { get set }
    /// Links to another object, or removes the link if there is one.
    mutating func toggle(_ target: any MappedEntity)
    var targets: [any MappedEntity] { get }
    /// Replaces each target.
    mutating func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity])
}

/// The fields of an object with a link to one other object.
protocol MappedFieldsOfOneTarget: MappedFields {
    associatedtype Target: MappedEntity
    var target: Target? { get set }
}

extension MappedFieldsOfOneTarget {
    var targets: [any MappedEntity] { target.map { [$0] } ?? [] }

    mutating func toggle(_ other: any MappedEntity) {
        guard let other = other as? Target else { return }
        target = target === other ? nil : other
    }

    mutating func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity]) {
        target = target.flatMap { other([$0]).first as? Target }
    }
}

extension MappedFields {
    static func map(_ recordType: String) -> CloudMap<CloudObject<Self>> {
        CloudMap(recordType).field(\.number, "number").field(\.first, "first")
            .field(\.second, "second").field(\.links, "links")
    }

    var first: Int64 {
        get { edits[0] }
        set { edits[0] = newValue }
    }
    var second: Int64 {
        get { edits[1] }
        set { edits[1] = newValue }
    }
    var links: Int64 {
        get { edits[2] }
        set { edits[2] = newValue }
    }
}

/// An object of such a world.
protocol MappedEntity: CloudKeyed, AnyObject {
    var number: Int64 { get }
    /// The last one is the edit that linked.
    var edits: [Int64] { get }
    var targets: [any MappedEntity] { get }
    static func make(_ number: Int64, _ world: World) -> Self
    func edit(_ place: Int, _ edit: Int64, linking target: (any MappedEntity)?)
    /// The same object as another process reads it: its targets are not set yet.
    func copied(_ world: World) -> Self
    func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity])
}

extension CloudObject: MappedEntity where Fields: MappedFields {
    var targets: [any MappedEntity] { fields.targets }

    static func make(_ number: Int64, _ world: World) -> CloudObject {
        var fields = Fields()
        fields.number = number
        return CloudObject(fields, world: world)
    }

    func edit(_ place: Int, _ edit: Int64, linking target: (any MappedEntity)?) {
        self.edit { fields in
            fields.edits[place] = edit
            if let target { fields.toggle(target) }
        }
    }

    func copied(_ world: World) -> CloudObject {
        let copy = CloudObject(fields, world: world)
        copy.syncID = syncID
        copy.changeDate = changeDate
        return copy
    }

    func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity]) {
        var fields = fields
        fields.replaceTargets(other)
        setFields(fields)
    }

    var number: Int64 { fields.number }
    var edits: [Int64] { fields.edits }

    private func setFields(_ new: Fields) {
        // The date stays unchanged, since this is not a user's edit.
        let date = changeDate
        edit { $0 = new }
        changeDate = date
    }
}

struct HutFields: MappedFields {
    static let cloudMap = map("Hut").reference(\.valley, "valley").references(\.nearby, "nearby")
    var number: Int64 = 0
    var edits: [Int64] = [0, 0, 0]
    var valley: MappedValley?
    var nearby: [MappedHut] = []

    var targets: [any MappedEntity] { (valley.map { [$0] } ?? []) + nearby }

    mutating func toggle(_ target: any MappedEntity) {
        if let target = target as? MappedValley {
            valley = valley === target ? nil : target
        } else if let target = target as? MappedHut {
            if let place = nearby.firstIndex(where: { $0 === target }) {
                nearby.remove(at: place)
            } else {
                nearby.append(target)
            }
        }
    }

    mutating func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity]) {
        valley = valley.flatMap { other([$0]).first as? MappedValley }
        nearby = other(nearby).compactMap { $0 as? MappedHut }
    }
}

struct ValleyFields: MappedFieldsOfOneTarget {
    static let cloudMap = map("Valley").reference(\.target, "main")
    var number: Int64 = 0
    var edits: [Int64] = [0, 0, 0]
    var target: MappedHut?
}

struct TrailFields: MappedFields {
    static let cloudMap = map("Trail").weak()
    var number: Int64 = 0
    var edits: [Int64] = [0, 0, 0]
    var targets: [any MappedEntity] { [] }
    mutating func toggle(_ target: any MappedEntity) {}
    mutating func replaceTargets(_ other: ([any MappedEntity]) -> [any MappedEntity]) {}
}

struct SignFields: MappedFieldsOfOneTarget {
    static let cloudMap = map("Sign").reference(\.target, "trail")
    var number: Int64 = 0
    var edits: [Int64] = [0, 0, 0]
    var target: MappedTrail?
}

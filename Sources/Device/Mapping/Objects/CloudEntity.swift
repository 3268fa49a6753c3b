import Foundation
import StratusRecords

/// A type of an app whose objects sync: a final class that may be used from any thread, or a struct.
///
/// ```swift
/// struct Hut: CloudKeyed {
///     static let cloudMap = CloudMap<Hut>("Hut").field(\.name, "name")
///     var syncID: String? = UUID().uuidString
///     var changeDate: Date?
///     var name = ""
/// }
/// ```
///
/// A struct must have its sync ID from the start, because two copies without one cannot be
/// distinguished from two objects.
public protocol CloudEntity: Sendable {
    /// The mapping of the type. Make it a constant, because it is read often.
    static var cloudMap: CloudMap<Self> { get }
}

/// An entity whose sync ID and change date have these names: adopt it once, in the protocol or the
/// extension that all types of the app share.
///
/// ``CloudMap/syncID(_:)`` and ``CloudMap/changeDate(_:_:)`` of a type's own map override them.
public protocol CloudKeyed: CloudEntity {
    /// The name of the object's record; nil before its first save.
    var syncID: String? { get set }
    /// When the app last changed the object. Set it with every edit: a sync uses it to find what to
    /// send, and the newest one wins.
    var changeDate: Date? { get set }
}

extension CloudEntity {
    /// A predicate for the object with a sync ID, regardless of the property's name.
    ///
    /// ```swift
    /// let hut = huts.first(where: Hut.predicate(forSyncID: id))
    /// ```
    public static func predicate(forSyncID syncID: String) -> @Sendable (Self) -> Bool {
        { $0.cloudID == syncID }
    }
}

extension CloudEntity {
    /// The keys of the type: its map's own, else those of ``CloudKeyed``.
    static var syncIDKey: Accessor<Self, String?>? {
        cloudMap.syncIDKey ?? common(get: { $0.syncID }, set: { $0.syncID = $1 })
    }

    static var changeDateKey: Accessor<Self, Date?>? {
        cloudMap.changeDateKey ?? common(get: { $0.changeDate }, set: { $0.changeDate = $1 })
    }

    private static func common<Value: Sendable>(
        get: @escaping @Sendable (any CloudKeyed) -> Value?,
        set: @escaping @Sendable (inout any CloudKeyed, Value?) -> Void
    ) -> Accessor<Self, Value?>? {
        guard self is any CloudKeyed.Type else { return nil }
        return Accessor(
            get: { ($0 as? any CloudKeyed).flatMap(get) },
            set: { entity, value in
                guard var keyed = entity as? any CloudKeyed else { return }
                set(&keyed, value)
                if let changed = keyed as? Self { entity = changed }
            })
    }

    var cloudID: String? {
        get { Self.syncIDKey?.get(self) }
        set { Self.syncIDKey?.set(&self, newValue) }
    }

    /// The change date in milliseconds, as records store dates.
    var changeMilliseconds: Int64? {
        Self.changeDateKey?.get(self)?.wholeMilliseconds
    }

    /// Whether the type is a class.
    static var isReference: Bool { self is AnyObject.Type }

    /// Whether both are the same object.
    func isSame(as other: any CloudEntity) -> Bool {
        if Self.isReference, type(of: other).isReference {
            return (self as AnyObject) === (other as AnyObject)
        }
        return type(of: other) == Self.self && cloudID != nil && cloudID == other.cloudID
    }
}

extension Date {
    var wholeMilliseconds: Int64 {
        ExactDate.milliseconds(of: timeIntervalSinceReferenceDate)
    }

    init(wholeMilliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(wholeMilliseconds) / 1_000)
    }
}

/// Reads and sets a value of an object.
struct Accessor<Root, Value>: Sendable {
    var get: @Sendable (Root) -> Value
    var set: @Sendable (inout Root, Value) -> Void

    init(
        get: @escaping @Sendable (Root) -> Value,
        set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        self.get = get
        self.set = set
    }

    init(_ path: WritableKeyPath<Root, Value> & Sendable) {
        self.init(get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 })
    }
}

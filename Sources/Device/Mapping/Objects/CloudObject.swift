import Foundation
import Observation
import StratusRuntime
import Synchronization

/// The properties of a ``CloudObject``.
public protocol CloudFields: Sendable {
    /// The mapping of the properties to a record type and its fields. Make it a constant, because it is read often.
    static var cloudMap: CloudMap<CloudObject<Self>> { get }
    /// Makes the properties of a new object, with their initial values.
    init()
}

/// A ready-made live object over a struct of properties. It can be used from any thread, is observable, dates
/// its edits, and can undo the last one.
///
/// ```swift
/// struct HutFields: CloudFields {
///     static let cloudMap = CloudMap<CloudObject<HutFields>>("Hut").field(\.name, "name")
///     var name = ""
/// }
/// let hut = CloudObject<HutFields>()
/// hut.edit { $0.name = "Lake hut" }
/// hut.iCloud.save()
/// ```
///
/// Code that reads a property inside `withObservationTracking` is notified when it changes, here or
/// on another device.
@dynamicMemberLookup
public final class CloudObject<Fields: CloudFields>: CloudKeyed, CloudCreatable,
    Observable, DraftedEntity
{
    fileprivate struct State {
        var fields: Fields
        var syncID: String?
        var changeDate: Date?
        var beforeEdit: Fields?
    }

    public static var cloudMap: CloudMap<CloudObject<Fields>> { Fields.cloudMap }

    private let state: Mutex<State>
    private let registrar = ObservationRegistrar()
    private let world: World

    public convenience init() { self.init(Fields()) }

    /// - Parameters:
    ///   - fields: the first values of its properties.
    ///   - world: provides the time of an edit; tests pass their own.
    public init(_ fields: Fields, world: World = .live) {
        state = Mutex(State(fields: fields))
        self.world = world
    }

    /// All properties.
    public var fields: Fields {
        registrar.access(self, keyPath: \.fields)
        return state.withLock { $0.fields }
    }

    /// A property. Setting it is not an edit: use ``edit(_:)``, so that the change is dated.
    public subscript<Value: Sendable>(
        dynamicMember path: WritableKeyPath<Fields, Value> & Sendable
    ) -> Value {
        get { fields[keyPath: path] }
        set { change { $0.fields[keyPath: path] = newValue } }
    }

    public var syncID: String? {
        get { state.withLock { $0.syncID } }
        set { state.withLock { $0.syncID = newValue } }
    }

    public var changeDate: Date? {
        get { state.withLock { $0.changeDate } }
        set { state.withLock { $0.changeDate = newValue } }
    }

    /// Changes properties, dates the change, and remembers their former values.
    ///
    /// - Precondition: the body uses only its argument, neither the object, which is locked meanwhile, nor a store that
    ///   has it.
    public func edit(_ body: (inout Fields) -> Void) {
        change { state in
            state.beforeEdit = state.fields
            body(&state.fields)
            state.date(world.now)
        }
    }

    /// Undoes the last edit. The undo is an edit itself: save the object afterwards. It also undoes
    /// what another device has changed since.
    ///
    /// - Returns: false when there is nothing to undo.
    @discardableResult
    public func undo() -> Bool {
        var isUndone = false
        change { state in
            guard let before = state.beforeEdit else { return }
            state.beforeEdit = state.fields
            state.fields = before
            state.date(world.now)
            isUndone = true
        }
        return isUndone
    }

    /// A copy to fill.
    func draft() -> CloudObject {
        let copy = CloudObject(state.withLock { $0.fields }, world: world)
        copy.syncID = syncID
        copy.changeDate = changeDate
        return copy
    }

    /// Adopts a draft in one step, unless the object was edited since.
    func take(_ draft: CloudObject, unlessEditedSince known: Int64?) -> Bool {
        let draft = draft.state.withLock { $0 }
        var isTaken = false
        change { state in
            guard state.changeDate?.wholeMilliseconds == known else { return }
            state.fields = draft.fields
            state.syncID = draft.syncID
            state.changeDate = draft.changeDate
            isTaken = true
        }
        return isTaken
    }

    private func change(_ body: (inout State) -> Void) {
        registrar.withMutation(of: self, keyPath: \.fields) { state.withLock { body(&$0) } }
    }
}

extension CloudObject.State {
    /// Sets a date later than the last one, however fast the edits follow.
    fileprivate mutating func date(_ now: Date) {
        let last = changeDate?.addingTimeInterval(0.001)
        changeDate = max(now, last ?? now)
    }
}

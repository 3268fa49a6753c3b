// What the macro writes names types of both.
@_exported import Foundation
@_exported import StratusMapping

/// Writes the map of a type whose objects sync.
///
/// Every stored variable becomes a field of its own name: values that a record holds, optional ones,
/// enumerations with raw values, files (`URL?`, an asset), other mapped objects and lists of them
/// (references). An initial value that is a constant is the default where a record lacks the field.
///
/// ```swift
/// @CloudRecord
/// struct Hut {
///     var name = ""
///     var beds = 10
///     @CloudReference(to: Valley.self) var valleyID: String?
///     @CloudLocal var isOpen = false
/// }
/// ```
///
/// A struct gets its `syncID` and `changeDate` where it does not declare them, and conforms to
/// ``CloudKeyed``, and to ``CloudCreatable`` where `Hut()` makes one. A final class declares them. On the
/// ``CloudFields`` of a ``CloudObject`` only the map is written.
///
/// What cannot be mapped is an error at its place, in one sentence. What goes wrong among types, such as a
/// reference to one that is not set up, is thrown by ``CloudMapping``.
///
/// - Parameters:
///   - recordType: the type's name where it is left out, without `Fields` at its end.
///   - isWeak: whether holders of references to an object go with it; see ``CloudMap/weak()``.
@attached(member, names: named(cloudMap), named(syncID), named(changeDate))
@attached(extension, conformances: CloudEntity, CloudKeyed, CloudCreatable)
public macro CloudRecord(_ recordType: String? = nil, isWeak: Bool = false) =
    #externalMacro(module: "StratusMacrosPlugin", type: "CloudRecordMacro")

/// Names the field of a property; also maps a computed property that has a getter and a setter.
@attached(peer)
public macro CloudField(_ name: String? = nil) =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Says that a property holds the sync ID of an object, or the sync IDs of many: `String?` or `[String]`.
@attached(peer)
public macro CloudReference(to target: Any.Type, _ name: String? = nil) =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Keeps a property on this device.
@attached(peer)
public macro CloudLocal() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Leaves the object alone, both ways, for as long as this property is true.
@attached(peer)
public macro CloudIgnore() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// The property that holds the name of the object's record, in place of `syncID`.
@attached(peer)
public macro CloudSyncID() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// The property that holds when the object was changed last, in place of `changeDate`.
///
/// - Parameter name: the field that carries it to other devices.
@attached(peer)
public macro CloudChangeDate(_ name: String = "changeDate") =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// The static property that holds what stands for an absent object of this type; see
/// ``CloudMap/placeholder(_:)``.
@attached(peer)
public macro CloudPlaceholder() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

// The code that the macro generates uses types of both modules.
@_exported import Foundation
@_exported import StratusMapping

/// Generates the `CloudMap` of a type whose objects sync.
///
/// Every stored variable becomes a field with its name. It may be a value that a record can hold, an optional value, an
/// enumeration with raw values, a file (`URL?`, an asset), another mapped object (a reference) or a list of those. A
/// constant initial value is the default for records without the field.
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
/// A struct gets the properties `syncID` and `changeDate` unless it declares them; it conforms to `CloudKeyed`, and
/// also to `CloudCreatable` if it can be created without arguments, as in `Hut()`. A final class must declare the two
/// properties. For the `CloudFields` of a `CloudObject` only the map is generated.
///
/// A property that cannot be mapped is a compiler error in its line. Mistakes that concern several types, such as a
/// reference to a type that is not set up, are thrown by `CloudMapping`.
///
/// - Parameters:
///   - recordType: the record type; by default the name of the type, without `Fields` at its end.
///   - isWeak: whether objects that refer to an object of this type are deleted with it; see `CloudMap.weak()`.
@attached(member, names: named(cloudMap), named(syncID), named(changeDate))
@attached(extension, conformances: CloudEntity, CloudKeyed, CloudCreatable)
public macro CloudRecord(_ recordType: String? = nil, isWeak: Bool = false) =
    #externalMacro(module: "StratusMacrosPlugin", type: "CloudRecordMacro")

/// Names the field of a property; also maps a computed property that has a getter and a setter.
@attached(peer)
public macro CloudField(_ name: String? = nil) =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Maps a property of the type `String?` or `[String]`, the sync IDs of other objects, as a reference or a list of them.
@attached(peer)
public macro CloudReference(to target: Any.Type, _ name: String? = nil) =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Leaves a property out of the map, so that its value stays on this device.
@attached(peer)
public macro CloudLocal() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Marks a property of the type `Bool`: while it is true, the object is neither sent nor changed by a sync.
@attached(peer)
public macro CloudIgnore() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Marks the property with the name of the object's record, used instead of `syncID`.
@attached(peer)
public macro CloudSyncID() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Marks the property with the date of the object's last change, used instead of `changeDate`.
///
/// - Parameter name: the field of the record in which the date is stored.
@attached(peer)
public macro CloudChangeDate(_ name: String = "changeDate") =
    #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

/// Marks the static property with the object that takes the place of an absent one of this type; see
/// `CloudMap.placeholder(_:)`.
@attached(peer)
public macro CloudPlaceholder() = #externalMacro(module: "StratusMacrosPlugin", type: "MarkMacro")

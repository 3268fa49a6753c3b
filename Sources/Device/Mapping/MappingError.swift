/// An error of the mapping, with a sentence that says what to do.
///
/// ```swift
/// do {
///     try await person.iCloud.saveAndWait()
/// } catch let error as MappingError where error.code == .deleted {
///     print(error.sentence)
/// }
/// ```
public struct MappingError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. More kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A map is wrong; the sentence names every problem.
        public static let invalidMaps = Self(rawValue: "invalidMaps")
        /// No ``CloudMapping`` was set up for the type.
        public static let notSetUp = Self(rawValue: "notSetUp")
        /// The key path is not a field of the type's map.
        public static let notMapped = Self(rawValue: "notMapped")
        /// A struct without a sync ID.
        public static let unnamedValue = Self(rawValue: "unnamedValue")
        /// The object was deleted, here or on another device.
        public static let deleted = Self(rawValue: "deleted")
        /// Other devices changed the record before each attempt to save it.
        public static let contended = Self(rawValue: "contended")
        /// The record is not one of the object's type.
        public static let otherType = Self(rawValue: "otherType")
        /// The file belongs to a user other than the one who is signed in.
        public static let otherAccount = Self(rawValue: "otherAccount")
        /// A callback of the store called a method that waits until the callback returns.
        public static let insideCallback = Self(rawValue: "insideCallback")
        /// The object was saved, but an object that it refers to was not.
        public static let linkNotSaved = Self(rawValue: "linkNotSaved")
        /// A record has fields that this version of the app cannot read.
        public static let unreadable = Self(rawValue: "unreadable")
        /// The file of the mapping cannot be read or written.
        public static let unwritable = Self(rawValue: "unwritable")
    }

    /// The kind of the error, for code that handles some errors in its own way.
    public var code: Code
    /// A sentence that says what happened and what to do.
    public var sentence: String
    /// The error that caused this one, such as a `CKError`; nil if there is none.
    public var cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameter sentence: says what happened and what to do.
    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }

    public var description: String {
        cause.map { "\(sentence) Cause: \($0)" } ?? sentence
    }
}

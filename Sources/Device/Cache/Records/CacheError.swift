import StratusSync

/// An error of the cache, with a sentence that says what to do.
///
/// ```swift
/// do {
///     try await cache.sync()
/// } catch let error as CacheError where error.code == .notSynced {
///     print("later:", error.sentence)
/// }
/// ```
public struct CacheError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. More kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A newer version of the app wrote the file.
        public static let newerFormat = Self(rawValue: "newerFormat")
        /// The file cannot be read.
        public static let damaged = Self(rawValue: "damaged")
        /// The file cannot be opened or written.
        public static let unwritable = Self(rawValue: "unwritable")
        /// A record has a value that no field can hold.
        public static let unsupportedValue = Self(rawValue: "unsupportedValue")
        /// A share is new or its participants were changed: the cache saves only the fields of
        /// records.
        public static let unsavedShare = Self(rawValue: "unsavedShare")
        /// A zone that this database cannot have or cannot delete.
        public static let invalidZone = Self(rawValue: "invalidZone")
        /// Another process has a file open that must be moved, or something else syncs a file that an engine is to sync;
        /// see ``EngineStore/failure``.
        public static let inUse = Self(rawValue: "inUse")
        /// A database that the cache does not keep.
        public static let invalidDatabase = Self(rawValue: "invalidDatabase")
        /// Types declared twice, or with names that records cannot have, or with a field named twice; see
        /// ``CachedType``.
        public static let invalidTypes = Self(rawValue: "invalidTypes")
        /// SQL of the app wrote to a table that is not its own; see ``CacheTransaction/database``.
        public static let reservedTable = Self(rawValue: "reservedTable")
        /// This device has no stored answer to a query of the public database.
        public static let noAnswer = Self(rawValue: "noAnswer")
        /// Syncing halted; see ``CacheError/haltReason``.
        public static let halted = Self(rawValue: "halted")
        /// The service could not be reached, or refused for now, as ``CacheError/failure`` says. Without a failure: the
        /// cache's file cannot be used now, as ``CacheError/cause`` says, or a download was not the whole asset.
        public static let notSynced = Self(rawValue: "notSynced")
        /// The device's storage is full; see also ``CacheStatus/isStorageFull``.
        public static let storageFull = Self(rawValue: "storageFull")
        /// The file of an asset cannot be read, or changed while it was saved.
        public static let assetUnreadable = Self(rawValue: "assetUnreadable")
        /// The file of an asset is not on this device and cannot be downloaded.
        public static let assetNotHere = Self(rawValue: "assetNotHere")
        /// Changes of this device have not been sent yet.
        public static let unsentChanges = Self(rawValue: "unsentChanges")
        /// A report has no values that can be restored.
        public static let nothingToRestore = Self(rawValue: "nothingToRestore")
        /// A newer app wrote the record, which this one must not change; see ``RecordVersions``.
        public static let newerRecord = Self(rawValue: "newerRecord")
        /// The app's time limit ended before everything was synced; nothing is lost.
        public static let timedOut = Self(rawValue: "timedOut")
        /// Syncing is turned off.
        public static let disabled = Self(rawValue: "disabled")
    }

    /// The kind of the error, for code that handles some errors in its own way.
    public var code: Code
    /// Says what happened, to what, and what to do.
    public var sentence: String
    /// Why syncing halted; only with ``Code/halted``.
    public var haltReason: HaltReason?
    /// The service's error, with ``Code/notSynced`` or ``Code/assetNotHere``; nil if the service did not cause it.
    public var failure: SyncFailure?
    /// The error that caused this one, such as SQLite's or the system's; nil if there is none.
    public var cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameter sentence: says what happened, to what, and what to do.
    public init(
        _ code: Code, _ sentence: String, haltReason: HaltReason? = nil,
        failure: SyncFailure? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.haltReason = haltReason
        self.failure = failure
        self.cause = cause
    }

    public var description: String {
        var text = sentence
        if let haltReason { text += " \(haltReason.summary)" }
        if let failure { text += " (\(failure.code)) \(failure.message)" }
        if let cause { text += " Cause: \(cause)" }
        return text
    }
}

extension CacheError {
    /// Syncing was requested while it is turned off.
    static let syncingIsOff = CacheError(
        .disabled,
        "Syncing is turned off for this cache. Turn it on with setEnabled(true), then sync.")

    /// The error of a file or folder of the cache that cannot be written.
    static func unwritable(_ path: String, cause: (any Error)? = nil) -> CacheError {
        CacheError(
            .unwritable,
            "The cache cannot write \(path). Make it and its folder writable, with space left.",
            cause: cause)
    }

    /// The error of a file whose user is not the one who is signed in.
    static func otherUser(ofFileAt path: String) -> CacheError {
        CacheError(
            .halted,
            "The cache's file \(path) belongs to a user other than the one who is signed in. Sign in"
                + " with the file's account.",
            haltReason: .otherAccount)
    }
}

/// The format of a file that a newer app wrote.
struct NewerCacheFormat: Error, CustomStringConvertible {
    var path: String
    var found: Int
    var newestKnown: Int

    var description: String {
        "\(path) has format \(found), and the newest that this app reads is \(newestKnown)."
    }
}

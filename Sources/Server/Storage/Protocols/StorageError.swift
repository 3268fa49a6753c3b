import StratusRecords

/// Why a storage engine failed.
///
/// ```swift
/// do {
///     try await store.write { try $0.createZone(named: "Trips", hasFeed: true) }
/// } catch let error as StorageError where error.code == .diskFull {
///     print(error.message)
/// }
/// ```
public struct StorageError: Error, Sendable {
    /// The kind of failure. More may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The disk is full. Nothing was lost; records can be read, and deletions still work.
        public static let diskFull = Self(rawValue: "diskFull")
        /// The data folder cannot be written.
        public static let notWritable = Self(rawValue: "notWritable")
        /// Another process has the data folder.
        public static let inUse = Self(rawValue: "inUse")
        /// The files were written by a newer release, or by another program.
        public static let unknownFormat = Self(rawValue: "unknownFormat")
        /// The file is damaged.
        public static let corrupt = Self(rawValue: "corrupt")
        /// The file exists, but the system does not let it be read or written.
        public static let unreadable = Self(rawValue: "unreadable")
        /// Users other than the service's own may read or write the file or folder.
        public static let exposed = Self(rawValue: "exposed")
        /// Too many writes wait for this database, or too many files are open; try again later.
        public static let busy = Self(rawValue: "busy")
        /// The store was closed.
        public static let closed = Self(rawValue: "closed")
        /// The disk has no room for an asset. The part that was written is removed, and the service continues.
        public static let assetDiskFull = Self(rawValue: "noRoom")
        /// Anything else that SQLite reported, or the system about an asset's file.
        public static let other = Self(rawValue: "other")
    }

    /// The kind of failure, for programs.
    public var code: Code
    /// What is wrong and what to do, in sentences.
    public var message: String
    /// The file or folder in question.
    public var path: String?
    /// The error that caused this one, such as SQLite's or the system's; nil when there is none.
    public var underlying: (any Error)?
    /// The damaged row, if only that row is damaged: everything else in the file is served.
    package var damagedRow: DamagedRow?
    /// The only database that is affected; nil when all are.
    public var database: DatabaseAddress?

    /// Makes an error that affects all databases: ``database`` is nil.
    public init(
        _ code: Code, _ message: String, path: String? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.underlying = underlying
    }

    /// Whether the service should stop instead of failing every request: an operator must repair the folder or the
    /// directory's file.
    package var stopsService: Bool {
        database == nil && damagedRow == nil && (isOfOneFile || code == .notWritable)
    }

    /// Whether one file as a whole is damaged, and stays so until an operator has repaired it.
    package var isOfOneFile: Bool {
        damagedRow == nil && [.corrupt, .unknownFormat, .unreadable, .exposed].contains(code)
    }
}
